"""The application: its event, and the handler that a worker runs."""

from django.db import connection

from teashop.models import Order
from todoke import Event, Key, Todoke

app = Todoke(connection)


class OrderPlaced(Event):
    order_id: Key[int]


@app.on(OrderPlaced)
def reserve(event: OrderPlaced) -> None:
    Order.objects.filter(pk=event.order_id).update(status="reserved")
