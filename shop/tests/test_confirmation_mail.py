"""The mail that follows a confirmation."""

from decimal import Decimal

import pytest

from shop.ordering.context import ordering
from shop.ordering.messages import OrderConfirmed
from shop.testing import Sandbox


def test_a_member_gets_a_mail(shop: Sandbox) -> None:
    """SH-4, TS-3 (A §6, 3)"""
    number = shop.order(shop.place_and_confirm("hanako@example.com"))["orderNumber"]
    shop.work()
    (letter,) = shop.letters()
    assert letter.recipient == "hanako@example.com"
    assert letter.subject == f"ご注文確認 - {number}"
    assert "ご注文ありがとうございます。" in letter.text
    assert f"注文番号: {number}" in letter.text
    assert "合計金額: ¥4,980" in letter.text


@pytest.mark.parametrize("email", [None, "", "   "])
def test_a_guest_gets_none_and_the_event_is_processed(shop: Sandbox, email: str | None) -> None:
    """SH-4, TS-3 (A §6, 4)"""
    shop.place_and_confirm(email)
    shop.work()
    (record,) = shop.events("ORDER_CONFIRMED", "order-mail")
    assert (record.status, record.note) == ("PROCESSED", "guest order")
    assert shop.letters() == []


@pytest.mark.parametrize("email", [None, "", " \t"])
def test_a_blank_address_in_an_event_is_a_guests(shop: Sandbox, email: str | None) -> None:
    """SH-4"""
    publish(shop, email=email)
    shop.work()
    assert shop.mail_statuses() == ["PROCESSED"]
    assert shop.letters() == []


def test_a_hostile_address_in_an_event_is_dead_at_once(shop: Sandbox) -> None:
    """SE-4, SH-4"""
    publish(shop, email="a@example.com\r\nBcc: b@example.com")
    shop.work()
    (letter,) = shop.dead_mails()
    assert (letter.code, letter.attempts) == ("BAD_ADDRESS", 1)
    assert shop.letters() == []


def test_a_hostile_order_number_in_an_event_is_dead_at_once(shop: Sandbox) -> None:
    """SE-4, SH-4"""
    publish(shop, number="=?utf-8?q?1=0ABcc:_b=40example.com?=")
    shop.work()
    (letter,) = shop.dead_mails()
    assert (letter.code, letter.attempts) == ("UNSAFE_HEADER", 1)
    assert shop.letters() == []


@pytest.mark.parametrize(
    ("total", "shown"),
    [("0", "¥0"), ("999", "¥999"), ("1000", "¥1,000"), ("1234567", "¥1,234,567")],
)
def test_the_total_is_shown_in_yen(small_shop: Sandbox, total: str, shown: str) -> None:
    """SH-4"""
    publish(small_shop, total=total)
    small_shop.work()
    (letter,) = small_shop.letters()
    assert f"合計金額: {shown}\n" in letter.text


def test_confirming_two_orders_sends_two_mails(shop: Sandbox) -> None:
    """SH-4"""
    shop.place_and_confirm("hanako@example.com")
    shop.place_and_confirm("taro@example.com")
    shop.work()
    recipients = {letter.recipient for letter in shop.letters()}
    assert recipients == {"hanako@example.com", "taro@example.com"}
    assert len({letter.message_id for letter in shop.letters()}) == 2


def publish(
    shop: Sandbox,
    email: str | None = "hanako@example.com",
    number: str = "20260218-7K3M9QAB",
    total: str = "4980",
) -> None:
    with shop.app.session() as session:
        event = OrderConfirmed(
            order_id=1, order_number=number, customer_email=email, total_price=Decimal(total)
        )
        ordering.publish(session, event)
