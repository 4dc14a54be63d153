"""`manage.py test`: in a transaction that is rolled back, and with a worker's work done."""

from django.test import TestCase, TransactionTestCase

from teashop.events import OrderPlaced, app
from teashop.models import Order
from todoke.testing import Harness


class Placing(TestCase):
    """Within Django's rolled-back transaction; nothing arrives, and nothing is left."""

    def test_an_order_is_placed(self) -> None:
        answer = self.client.post("/orders", {"article": "sencha"}, "application/json")
        self.assertEqual(answer.json()["status"], "placed")


class Reserving(TransactionTestCase):
    """With real commits; Django's flush empties todoke's tables, too."""

    def test_an_order_is_reserved(self) -> None:
        self.client.post("/orders", {"article": "sencha"}, "application/json")
        app.drain()
        self.assertEqual(Order.objects.get().status, "reserved")

    def test_an_order_is_reserved_though_its_worker_died(self) -> None:
        with Harness(app) as todoke:
            self.client.post("/orders", {"article": "sencha"}, "application/json")
            todoke.assert_published(OrderPlaced)
            with todoke.crash("handler.before_start"):
                todoke.drain()
            todoke.drain()
        self.assertEqual(Order.objects.get().status, "reserved")
