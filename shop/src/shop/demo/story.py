"""What happens in the demo: three orders, a move that is not allowed, and an order to a broker."""

from dataclasses import dataclass
from uuid import uuid4

from shop.demo.client import Site


@dataclass(frozen=True)
class Customer:
    who: str
    email: str | None
    article: str
    quantity: int
    unit_price: int


CUSTOMERS = (
    Customer("a member", "hanako@example.com", "急須", 1, 4980),
    Customer("a guest", None, "湯呑み", 5, 1200),
    Customer("a member", "taro@example.com", "抹茶碗", 2, 12800),
)


@dataclass(frozen=True)
class Confirmed:
    """An order that was confirmed, and whether a mail must follow."""

    order_id: int
    number: str
    has_mail: bool


@dataclass(frozen=True)
class Told:
    """What must come of the story."""

    confirmed: list[Confirmed]
    broker_key: str


def tell(shop: Site) -> Told:
    confirmed = [_buy_and_confirm(shop, customer) for customer in CUSTOMERS]
    _confirm_again(shop, confirmed[0])
    return Told(confirmed, _order_from_the_broker(shop))


def _buy_and_confirm(shop: Site, customer: Customer) -> Confirmed:
    line = {
        "name": customer.article,
        "quantity": customer.quantity,
        "unitPrice": customer.unit_price,
    }
    placed = shop.post("/api/order", {"lines": [line], "customerEmail": customer.email})
    order = placed.body
    answer = shop.post(f"/api/order/{order['id']}/confirm")
    print(
        f"  {customer.who} orders {customer.article} × {customer.quantity},"
        f" ¥{order['totalPrice']:,}: {order['orderNumber']} is {answer.body['status']}"
    )
    return Confirmed(order["id"], order["orderNumber"], customer.email is not None)


def _confirm_again(shop: Site, confirmed: Confirmed) -> None:
    answer = shop.post(f"/api/order/{confirmed.order_id}/confirm")
    print(f"  {confirmed.number} once more: {answer.status} {answer.body['code']},")
    print(f"    {answer.body['detail']}")


def _order_from_the_broker(shop: Site) -> str:
    key = str(uuid4())
    order = {
        "idempotencyKey": key,
        "symbol": "7203.T",
        "side": "BUY",
        "quantity": "100",
        "orderType": "LIMIT",
        "limitPrice": "2512.5",
        "account": "demo-1",
    }
    first, again = shop.post("/do/order", order), shop.post("/do/order", order)
    print(f"  a desk orders 100 × 7203.T from the broker: {first.status}, and the same once more,")
    print(f"    with the same key: {again.status} {again.body['status']}")
    return key
