"""Confirming an order and publishing its event are one change."""

import json

import pytest
from sqlalchemy import delete

from shop.ordering.orders import confirm_order, find_order
from shop.ordering.table import order_lines, orders
from shop.testing import Sandbox


class Interrupted(Exception):
    pass


def test_confirming_leaves_a_pending_event(shop: Sandbox) -> None:
    """SH-3, OB-1, TS-3 (A §6, 1)"""
    order_id = shop.place_and_confirm()
    (record,) = shop.events("ORDER_CONFIRMED", "order-mail")
    order = shop.order(order_id)
    assert (record.status, record.key, record.context) == ("PENDING", str(order_id), "ordering")
    assert json.loads(record.body) == {
        "order_id": order_id,
        "order_number": order["orderNumber"],
        "customer_email": "hanako@example.com",
        "language": "ja",
        "total_price": "4980",
    }


def test_a_delivered_event_is_processed(shop: Sandbox) -> None:
    """SH-4, OB-3, TS-3 (A §6, 2)"""
    shop.place_and_confirm()
    shop.work()
    assert shop.mail_statuses() == ["PROCESSED"]


def test_a_rolled_back_confirmation_leaves_nothing(shop: Sandbox) -> None:
    """SH-3, OB-1, AU-12, TS-3 (A §6, 8)"""
    order_id = shop.place()
    shop.work()
    with pytest.raises(Interrupted), shop.app.session() as session:
        confirm_order(session, order_id)
        session.flush()
        raise Interrupted
    shop.work()
    assert shop.events("ORDER_CONFIRMED", "order-mail") == []
    assert shop.order(order_id)["status"] == "PENDING"
    assert shop.letters() == []


def test_a_refused_move_leaves_no_event_and_no_log_entry(shop: Sandbox) -> None:
    """SH-1, SH-3, AU-12, TS-3 (A §6, 8)"""
    order_id = shop.place_and_confirm()
    assert shop.web.post(f"/api/order/{order_id}/confirm").status_code == 409
    assert shop.web.post(f"/api/order/{order_id}/deliver").status_code == 409
    shop.work()
    assert shop.mail_statuses() == ["PROCESSED"]
    assert shop.statuses("OPERATION_PERFORMED") == ["PROCESSED", "PROCESSED"]
    kinds = [one["operationType"] for one in shop.web.get("/api/operation").json()["items"]]
    assert sorted(kinds) == ["ORDER_CONFIRM", "ORDER_PLACE"]


def test_the_mail_is_written_from_the_event_alone(shop: Sandbox) -> None:
    """SH-14: the handler does not look at the order, which may be gone by then."""
    order_id = shop.place_and_confirm()
    number = shop.order(order_id)["orderNumber"]
    with shop.app.session() as session:
        find_order(session, order_id)
        session.execute(delete(order_lines))
        session.execute(delete(orders))
    shop.work()
    (letter,) = shop.letters()
    assert number in letter.text
