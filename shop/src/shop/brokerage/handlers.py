from collections.abc import AsyncIterator

from shop.brokerage.adapter import Adapter
from shop.brokerage.attempt_log import told
from shop.brokerage.broker_settings import BrokerSettings
from shop.brokerage.context import brokerage
from shop.brokerage.http_adapter import HttpAdapter
from shop.brokerage.messages import SendOrder
from todoke import Attempt, Breaker, Done, Limit, Rate, Settings

_BROKER = Breaker("broker", failures=10, rest="30s")
"""More failures than attempts: an order that fails alone is given up, an outage is waited out."""


@brokerage.provide
async def adapter(settings: Settings) -> AsyncIterator[Adapter]:
    async with HttpAdapter(BrokerSettings.read(settings)) as http:
        yield http


@brokerage.on(
    SendOrder,
    name="send-order",
    retry="broker-order",
    timeout="75s",
    limit=[Limit(4), Rate(20, "1s")],
    breaker=_BROKER,
)
async def send_order(event: SendOrder, adapter: Adapter, attempt: Attempt) -> Done:
    """Hand the order over, under a key that is the same on every attempt."""
    with told(attempt, event.client_key, adapter.name):
        receipt = await adapter.send(
            event.order, key=attempt.idempotency_key, client_order_id=event.client_key
        )
    return Done(receipt.model_dump(mode="json"))
