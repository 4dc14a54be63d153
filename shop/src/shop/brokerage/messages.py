"""What brokerage is asked to do."""

from shop.brokerage.model import OrderRequest
from todoke import Event, Key, Personal


class SendOrder(
    Event, type="SEND_ORDER", context="brokerage", aggregate="broker-order", ordered=False
):
    """An order was accepted under its client's key and is to reach the broker."""

    client_key: Key[str]
    order: Personal[OrderRequest]
