"""What happens in the demo: orders, what is not allowed, and an order to a broker."""

from dataclasses import dataclass
from uuid import uuid4

from shop.demo.client import Site


@dataclass(frozen=True)
class Customer:
    who: str
    name: str
    email: str | None
    sku: str
    quantity: int
    language: str = "ja"


PRODUCTS = {
    "KYUSU-01": ("急須", 4980),
    "YUNOMI-05": ("湯呑み", 1200),
    "CHAWAN-02": ("抹茶碗", 12800),
}
CUSTOMERS = (
    Customer("a member", "山田花子", "hanako@example.com", "KYUSU-01", 1),
    Customer("a guest", "鈴木一郎", None, "YUNOMI-05", 5),
    Customer("a member", "佐藤太郎", "taro@example.com", "CHAWAN-02", 2, "en"),
)
TOO_MANY = 10_000


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
    for sku, (name, unit_price) in PRODUCTS.items():
        shop.put(f"/api/product/{sku}", {"name": name, "unitPrice": unit_price})
        shop.post(f"/api/stock/{sku}/receive", {"quantity": 20})
    print(f"  {len(PRODUCTS)} products are offered, and 20 of each come in")
    confirmed = [_buy_and_confirm(shop, customer) for customer in CUSTOMERS]
    _confirm_again(shop, confirmed[0])
    _want_too_many(shop)
    return Told(confirmed, _order_from_the_broker(shop))


def _buy_and_confirm(shop: Site, customer: Customer) -> Confirmed:
    order = shop.post("/api/order", _order(customer, customer.quantity)).body
    answer = shop.post(f"/api/order/{order['id']}/confirm")
    print(
        f"  {customer.who} orders {PRODUCTS[customer.sku][0]} × {customer.quantity},"
        f" ¥{order['totalPrice']:,}: {order['orderNumber']} is {answer.body['status']}"
    )
    return Confirmed(order["id"], order["orderNumber"], customer.email is not None)


def _want_too_many(shop: Site) -> None:
    answer = shop.post("/api/order", _order(CUSTOMERS[0], TOO_MANY))
    print(f"  somebody wants {TOO_MANY:,} at once: {answer.status} {answer.body['code']},")
    print(f"    {answer.body['detail']}")


def _order(customer: Customer, quantity: int) -> dict[str, object]:
    recipient = {
        "name": customer.name,
        "postalCode": "100-0001",
        "address": "東京都千代田区千代田1-1",
        "phone": "03-1234-5678",
    }
    return {
        "lines": [{"sku": customer.sku, "quantity": quantity}],
        "shipTo": recipient,
        "customerEmail": customer.email,
        "language": customer.language,
    }


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
