"""What every adapter has to pass, whichever broker is at its other end. Needs pytest.

class TestHttpAdapter(AdapterConformance):
    @pytest.fixture
    def counterpart(self) -> Counterpart: ...

    @pytest.fixture
    async def adapter(self, counterpart: Counterpart) -> AsyncIterator[Adapter]: ...
"""

from typing import Protocol

import pytest

from shop.brokerage.adapter import Adapter, AdapterFailed, AdapterRefused, Receipt
from shop.brokerage.model import OrderRequest

ACCOUNT = "8871-2040-9912"
ORDER = OrderRequest.model_validate(
    {
        "symbol": "7203.T",
        "side": "BUY",
        "quantity": "100",
        "orderType": "LIMIT",
        "limitPrice": "2512.5",
        "account": ACCOUNT,
    }
)


class Counterpart(Protocol):
    """The broker at the other end, as the suite moves it."""

    def taken(self) -> list[str]:
        """The client order ids of all orders it has, oldest first."""

    def refuse(self, code: str) -> None:
        """Refuse the next order."""

    def fail(self) -> None:
        """Fail with the next order, before it is taken."""

    def lose_the_answer(self) -> None:
        """Take the next order, and say nothing."""


async def send(adapter: Adapter, key: str = "key-1", order: OrderRequest = ORDER) -> Receipt:
    return await adapter.send(order, key=key, client_order_id=f"client-{key}")


class AdapterConformance:
    """Subclass it, and give it the two fixtures `counterpart` and `adapter`."""

    async def test_an_order_arrives_and_its_receipt_names_it(
        self, adapter: Adapter, counterpart: Counterpart
    ) -> None:
        """ID-5"""
        receipt = await send(adapter)
        assert adapter.name
        assert receipt.client_order_id == "client-key-1"
        assert counterpart.taken() == ["client-key-1"]

    async def test_the_same_key_again_brings_the_first_receipt_and_no_second_order(
        self, adapter: Adapter, counterpart: Counterpart
    ) -> None:
        """ID-7"""
        assert await send(adapter) == await send(adapter)
        assert len(counterpart.taken()) == 1

    async def test_another_key_is_another_order(
        self, adapter: Adapter, counterpart: Counterpart
    ) -> None:
        """ID-7"""
        first, second = await send(adapter, "key-1"), await send(adapter, "key-2")
        assert first.broker_order_id != second.broker_order_id
        assert counterpart.taken() == ["client-key-1", "client-key-2"]

    async def test_a_refusal_is_final_and_keeps_the_brokers_reason(
        self, adapter: Adapter, counterpart: Counterpart
    ) -> None:
        """ID-5"""
        counterpart.refuse("MARKET_CLOSED")
        with pytest.raises(AdapterRefused) as refused:
            await send(adapter)
        assert refused.value.code == "MARKET_CLOSED"
        assert counterpart.taken() == []

    async def test_after_a_failure_the_order_can_be_sent_again(
        self, adapter: Adapter, counterpart: Counterpart
    ) -> None:
        """ID-5"""
        counterpart.fail()
        with pytest.raises(AdapterFailed) as failed:
            await send(adapter)
        assert failed.value.code
        await send(adapter)
        assert len(counterpart.taken()) == 1

    async def test_after_a_lost_answer_the_same_key_finds_out(
        self, adapter: Adapter, counterpart: Counterpart
    ) -> None:
        """ID-7"""
        counterpart.lose_the_answer()
        with pytest.raises(AdapterFailed):
            await send(adapter)
        assert counterpart.taken() == ["client-key-1"], "the broker has it, and we cannot know"
        assert (await send(adapter)).client_order_id == "client-key-1"
        assert len(counterpart.taken()) == 1

    async def test_what_it_raises_names_no_account(
        self, adapter: Adapter, counterpart: Counterpart
    ) -> None:
        """SE-2"""
        counterpart.refuse("MARKET_CLOSED")
        with pytest.raises(AdapterRefused) as refused:
            await send(adapter)
        counterpart.fail()
        with pytest.raises(AdapterFailed) as failed:
            await send(adapter)
        assert ACCOUNT not in repr(refused.getrepr(chain=True, showlocals=False))
        assert ACCOUNT not in repr(failed.getrepr(chain=True, showlocals=False))
