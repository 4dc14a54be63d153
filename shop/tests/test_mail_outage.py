"""A mail server that is down delays mail; a mail that fails by itself dies; orders stand."""

import pytest

from shop.testing import Sandbox

PAUSES = ("90s", "3m")


def test_after_three_failed_attempts_the_mail_is_dead(shop: Sandbox) -> None:
    """SH-4, ER-2, TS-3 (A §6, 5)"""
    shop.mail.stop()
    shop.place_and_confirm()
    shop.work(*PAUSES)
    (letter,) = shop.dead_letters()
    assert shop.mail_statuses() == ["DEAD"]
    assert (letter.name, letter.code, letter.attempts) == ("order-mail", "SMTP_UNREACHABLE", 3)


def test_before_the_third_attempt_the_event_is_pending(shop: Sandbox) -> None:
    """SH-4, ER-2"""
    shop.mail.refuse_with(451)
    shop.place_and_confirm()
    shop.work("90s")
    (record,) = shop.events("ORDER_CONFIRMED", "order-mail")
    assert (record.status, record.attempts, record.error_code) == ("PENDING", 2, "SMTP_451")
    assert shop.mail.refused == 2


def test_the_order_stays_confirmed(shop: Sandbox) -> None:
    """SH-4, TS-3 (A §6, 6)"""
    shop.mail.stop()
    order_id = shop.place_and_confirm()
    shop.work(*PAUSES)
    assert shop.mail_statuses() == ["DEAD"]
    assert shop.order(order_id)["status"] == "CONFIRMED"


def test_a_mail_goes_out_when_the_server_is_back(shop: Sandbox) -> None:
    """SH-4, ER-2"""
    shop.mail.refuse_with(451, times=2)
    shop.place_and_confirm()
    shop.work(*PAUSES)
    assert shop.mail_statuses() == ["PROCESSED"]
    assert len(shop.letters()) == 1


def test_a_final_refusal_is_not_tried_again(shop: Sandbox) -> None:
    """SH-4, ER-1"""
    shop.mail.refuse_with(550)
    shop.place_and_confirm()
    shop.work(*PAUSES)
    (letter,) = shop.dead_letters()
    assert (letter.code, letter.error_class, letter.attempts) == ("SMTP_550", "permanent", 1)
    assert shop.mail.refused == 1


def test_an_outage_does_not_stop_the_operation_log(shop: Sandbox) -> None:
    """OB-8, AU-12"""
    shop.mail.stop()
    shop.place_and_confirm()
    shop.work()
    assert shop.statuses("OPERATION_PERFORMED") == ["PROCESSED", "PROCESSED"]


@pytest.mark.parametrize("code", [451, 550])
def test_what_is_written_about_a_failure_does_not_name_the_customer(
    shop: Sandbox, code: int
) -> None:
    """SE-2: the refusing server quotes the address."""
    shop.mail.refuse_with(code)
    shop.place_and_confirm("hanako@example.com")
    shop.work(*PAUSES)
    (letter,) = shop.dead_letters()
    assert "hanako" not in letter.message + letter.traceback + letter.code


def test_a_dead_mail_can_be_sent_after_all(shop: Sandbox) -> None:
    """ER-4, SH-4"""
    shop.mail.refuse_with(550, times=1)
    shop.place_and_confirm()
    shop.work()
    with shop.app.session() as session:
        mails = shop.app.dead_letters.where(name="order-mail")
        shop.app.dead_letters.redrive(session, mails, by="mika", reason="the server is mended")
    shop.work()
    assert shop.mail_statuses() == ["PROCESSED"]
    assert len(shop.letters()) == 1


def test_an_outage_with_many_orders_loses_no_mail_and_buries_none(shop: Sandbox) -> None:
    """SH-4, OB-15, ID-6: after five failures in a row the mail server rests, and mails wait."""
    shop.mail.refuse_with(451)
    numbers = [shop.order(shop.place_and_confirm())["orderNumber"] for _ in range(50)]
    shop.work(*["30s"] * 6)
    assert shop.dead_letters() == []
    assert shop.mail.refused < 50, "most were not even tried"
    shop.mail.refuse_with(None)
    shop.work("30s", "5m", "5m")
    arrived = sorted(letter.subject for letter in shop.letters())
    assert arrived == sorted(f"ご注文確認 - {number}" for number in numbers)
    assert set(shop.mail_statuses()) == {"PROCESSED"}
