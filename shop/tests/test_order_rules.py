"""The rules of an order's life, without any storage."""

from datetime import UTC, datetime

import pytest

from shop.ordering.model import (
    CancelReason,
    InvalidStatusTransition,
    Order,
    OrderLine,
    OrderStatus,
    Recipient,
)

NOON = datetime(2026, 2, 18, 12, tzinfo=UTC)

ALLOWED = {
    ("pay", "PENDING"): "PAID",
    ("confirm", "PENDING"): "CONFIRMED",
    ("confirm", "PAID"): "CONFIRMED",
    ("prepare_shipment", "CONFIRMED"): "PREPARING_SHIPMENT",
    ("mark_shipped", "PREPARING_SHIPMENT"): "SHIPPED",
    ("deliver", "SHIPPED"): "DELIVERED",
    ("cancel", "PENDING"): "CANCELLED",
    ("cancel", "PAID"): "CANCELLED",
    ("cancel", "CONFIRMED"): "CANCELLED",
}
MOVES = ("pay", "confirm", "prepare_shipment", "mark_shipped", "deliver", "cancel")
HOME = Recipient("山田花子", "100-0001", "東京都千代田区千代田1-1", "03-1234-5678")


def an_order(status: str = "PENDING") -> Order:
    lines = [OrderLine("KYUSU-01", "急須", 2, 4980), OrderLine("CHA-00", "茶葉", 1, 0)]
    order = Order.place(lines, HOME, None, NOON)
    order.status = OrderStatus(status)
    return order


@pytest.mark.parametrize("status", OrderStatus)
@pytest.mark.parametrize("move", MOVES)
def test_an_order_makes_the_allowed_moves_and_no_other(move: str, status: OrderStatus) -> None:
    """SH-1"""
    order = an_order(status)
    becomes = ALLOWED.get((move, status))
    why = [CancelReason.TIMEOUT] if move == "cancel" else []
    if becomes:
        getattr(order, move)(*why)
        assert order.status == becomes
    else:
        with pytest.raises(InvalidStatusTransition) as refused:
            getattr(order, move)(*why)
        assert refused.value.current == order.status == status


def test_a_new_order_is_pending() -> None:
    """SH-1"""
    assert (
        Order.place([OrderLine("KYUSU-01", "急須", 1, 4980)], HOME, None, NOON).status == "PENDING"
    )


def test_the_total_is_the_sum_of_the_lines_in_whole_yen() -> None:
    """SH-3"""
    total = an_order().total_price
    assert total == 9960
    assert isinstance(total, int)


def test_order_numbers_tell_the_day_and_do_not_repeat() -> None:
    """SH-1"""
    numbers = {an_order().number for _ in range(1000)}
    assert len(numbers) == 1000
    assert all(number.startswith("20260218-") for number in numbers)
