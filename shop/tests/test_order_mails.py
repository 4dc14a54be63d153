"""The mails that follow an order on its way, as they arrive over SMTP."""

from decimal import Decimal
from email import message_from_bytes
from email.policy import compat32
from email.utils import format_datetime

import pytest

from shop.ordering.context import ordering
from shop.ordering.messages import (
    Language,
    OrderCancelled,
    OrderConfirmed,
    OrderingEvent,
    OrderShipped,
)
from shop.testing import Sandbox
from todoke.operate import EventRecord

NUMBER = "20260218-7K3M9QAB"

ARRIVING = [
    ("confirmed", "ja", f"ご注文確認 - {NUMBER}", "合計金額: ¥4,980\n"),
    ("confirmed", "en", f"Order confirmed - {NUMBER}", "Total: ¥4,980\n"),
    ("shipped", "ja", f"商品発送のお知らせ - {NUMBER}", f"注文番号: {NUMBER}\n"),
    ("shipped", "en", f"Your order is on its way - {NUMBER}", f"Order number: {NUMBER}\n"),
    (
        "cancelled",
        "ja",
        f"ご注文キャンセルのお知らせ - {NUMBER}",
        "お支払いを確認できなかったため\n",
    ),
    ("cancelled", "en", f"Your order has been cancelled - {NUMBER}", "did not go through\n"),
]
HANDLERS = {
    "confirmed": "order-mail",
    "shipped": "shipped-mail",
    "cancelled": "cancelled-mail",
}


def an_event(
    kind: str,
    language: Language = "ja",
    email: str | None = "hanako@example.com",
    number: str = NUMBER,
    order_id: int = 1,
) -> OrderingEvent:
    if kind == "confirmed":
        return OrderConfirmed(
            order_id=order_id,
            order_number=number,
            customer_email=email,
            language=language,
            total_price=Decimal(4980),
        )
    if kind == "shipped":
        return OrderShipped(
            order_id=order_id, order_number=number, customer_email=email, language=language
        )
    return OrderCancelled(
        order_id=order_id,
        order_number=number,
        customer_email=email,
        language=language,
        reason="PAYMENT_FAILED",
    )


def publish(shop: Sandbox, *events: OrderingEvent) -> None:
    with shop.app.session() as session:
        for event in events:
            ordering.publish(session, event)


@pytest.mark.parametrize(("kind", "language", "subject", "line"), ARRIVING)
def test_a_mail_arrives_in_the_customers_language(
    small_shop: Sandbox, kind: str, language: Language, subject: str, line: str
) -> None:
    """SH-4, SH-14"""
    publish(small_shop, an_event(kind, language))
    small_shop.work()
    (letter,) = small_shop.letters()
    assert (letter.recipient, letter.subject) == ("hanako@example.com", subject)
    assert line in letter.text
    (caught,) = small_shop.mail.mailbox.newest_first()
    headers = message_from_bytes(caught.raw, policy=compat32)
    assert headers.get_all("Content-Language") == [language]


def test_all_mails_of_an_order_arrive_whatever_the_database(shop: Sandbox) -> None:
    """SH-4, SH-14"""
    publish(shop, *[an_event(kind) for kind in HANDLERS])
    shop.work()
    assert len({letter.message_id for letter in shop.letters()}) == 3
    assert shop.dead_mails() == []


@pytest.mark.parametrize("email", [None, "", " \t"])
@pytest.mark.parametrize("kind", HANDLERS)
def test_a_guest_gets_no_mail_of_any_kind(
    small_shop: Sandbox, kind: str, email: str | None
) -> None:
    """SH-4"""
    publish(small_shop, an_event(kind, email=email))
    small_shop.work()
    (record,) = mail_records(small_shop, kind)
    assert (record.status, record.note) == ("PROCESSED", "guest order")
    assert small_shop.letters() == []


@pytest.mark.parametrize("kind", HANDLERS)
@pytest.mark.parametrize(
    ("number", "code"),
    [
        ("1\r\nBcc: b@example.com", "UNSAFE_TEXT"),
        ("1\n\n合計金額: ¥0", "UNSAFE_TEXT"),
        ("=?utf-8?q?1=0ABcc:_b=40example.com?=", "UNSAFE_HEADER"),
    ],
)
def test_a_hostile_text_in_an_event_is_dead_at_once(
    small_shop: Sandbox, kind: str, number: str, code: str
) -> None:
    """SE-4, SH-4"""
    publish(small_shop, an_event(kind, number=number))
    small_shop.work()
    (dead,) = small_shop.dead_mails()
    assert (dead.name, dead.code, dead.attempts) == (HANDLERS[kind], code, 1)
    assert small_shop.letters() == []


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("kind", HANDLERS)
def test_a_second_copy_is_the_same_byte_for_byte(
    small_shop: Sandbox, kind: str, language: Language
) -> None:
    """SH-4, OB-7: the server took the first, and nobody heard of it."""
    server = small_shop.mail

    def hang_up(_: object) -> None:
        server.on_mail = None
        assert server.smtpd is not None
        server.smtpd.transport.abort()

    server.on_mail = hang_up
    published_at = small_shop.clock.now()
    publish(small_shop, an_event(kind, language))
    small_shop.work("90s")
    first, second = server.mailbox.newest_first()
    assert first.raw == second.raw
    assert {letter.date for letter in small_shop.letters()} == {format_datetime(published_at)}


def test_an_outage_that_one_kind_of_mail_meets_spares_the_others_the_attempt(
    small_shop: Sandbox,
) -> None:
    """SH-4, ID-6: there is one mail server, and one breaker for it."""
    small_shop.mail.refuse_with(451)
    publish(small_shop, *[an_event("confirmed", order_id=number) for number in range(1, 11)])
    small_shop.work()
    refused = small_shop.mail.refused
    publish(small_shop, an_event("shipped"), an_event("cancelled"))
    small_shop.work()
    assert small_shop.mail.refused == refused
    small_shop.mail.refuse_with(None)
    small_shop.work("30s", "5m", "5m")
    assert len(small_shop.letters()) == 12


def mail_records(shop: Sandbox, kind: str) -> list[EventRecord]:
    found = shop.events(f"ORDER_{kind.upper()}")
    return [record for record in found if record.handler == HANDLERS[kind]]
