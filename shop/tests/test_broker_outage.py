"""A broker that refuses, fails, is slow or gone: what becomes of the order, and of its outcome."""

from typing import Any

import pytest

from shop.paper_broker.running import PaperBroker
from shop.testing import BROKER_ORDER, Sandbox

WAITS = (5, 10, 20, 40, 80)
FAILS = {"do": "fail", "status": 500}


def requests(broker: PaperBroker) -> int:
    return int(broker.traffic()["requests"])


def work_until_dead(desk: Sandbox) -> None:
    desk.work(*(f"{wait * 1.2:g}s" for wait in WAITS))


def test_the_broker_is_asked_again_after_5_to_80_seconds_and_then_given_up(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-5, ER-2: six attempts; each wait is spread by a tenth."""
    broker.script({**FAILS, "code": "MATCHING_ENGINE_DOWN"})
    desk.do_order()
    desk.work()
    for number, wait in enumerate(WAITS, start=1):
        desk.work(f"{wait * 0.89:g}s")
        assert requests(broker) == number, f"not within {wait} s"
        assert desk.outcome()["status"] == "accepted"
        desk.work(f"{wait * 0.22:g}s")
        assert requests(broker) == number + 1
    desk.work("1h")
    assert requests(broker) == 6
    (letter,) = desk.dead_letters()
    assert (letter.name, letter.code, letter.attempts) == ("send-order", "MATCHING_ENGINE_DOWN", 6)
    assert desk.outcome()["status"] == "failed"
    assert desk.outcome()["error"]["code"] == "MATCHING_ENGINE_DOWN"
    assert broker.orders() == []


def test_a_failed_outcome_is_told_again_and_nothing_more_is_sent(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-2"""
    broker.script({"do": "refuse", "code": "MARKET_CLOSED"})
    desk.do_order()
    desk.work()
    again = desk.do_order()
    assert (again.status_code, again.json()["status"]) == (200, "failed")
    assert again.headers["idempotency-replayed"] == "true"
    desk.work("1h")
    assert requests(broker) == 1


def test_a_refusal_is_not_tried_again(desk: Sandbox, broker: PaperBroker) -> None:
    """ID-5, ER-1"""
    broker.script({"do": "refuse", "code": "MARKET_CLOSED"})
    desk.do_order()
    desk.work("1h")
    (letter,) = desk.dead_letters()
    assert (letter.code, letter.error_class, letter.attempts) == ("MARKET_CLOSED", "permanent", 1)
    assert desk.statuses("SEND_ORDER") == ["DEAD"]
    assert desk.outcome()["error"]["code"] == "MARKET_CLOSED"


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"do": "hang"}, "BROKER_TIMEOUT"),
        ({"do": "babble"}, "BROKER_UNREADABLE"),
        ({"do": "fail", "status": 503}, "BROKER_503"),
        ({"do": "fail", "status": 302}, "BROKER_302"),
    ],
)
def test_what_went_wrong_is_to_be_seen_while_it_is_tried_again(
    small_desk: Sandbox, broker: PaperBroker, step: dict[str, Any], code: str
) -> None:
    """ID-5"""
    broker.script({**step, "times": 1})
    small_desk.do_order()
    small_desk.work()
    (record,) = small_desk.events("SEND_ORDER")
    assert (record.status, record.error_code) == ("PENDING", code)
    small_desk.work("6s")
    assert small_desk.outcome()["status"] == "succeeded"


def test_a_broker_that_is_gone_is_asked_again_when_it_is_back(
    small_desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-5"""
    broker.kill()
    small_desk.do_order()
    small_desk.work()
    (record,) = small_desk.events("SEND_ORDER")
    assert record.error_code == "BROKER_UNREACHABLE"
    broker.start()
    small_desk.work("6s")
    assert small_desk.outcome()["status"] == "succeeded"


def test_a_broker_that_asks_for_patience_gets_it(small_desk: Sandbox, broker: PaperBroker) -> None:
    """ID-6"""
    broker.script({"do": "fail", "status": 429, "retryAfter": "30", "times": 1})
    small_desk.do_order()
    small_desk.work("29s")
    assert requests(broker) == 1
    small_desk.work("2s")
    assert small_desk.outcome()["status"] == "succeeded"


def test_after_a_redrive_the_outcome_is_open_again_and_the_broker_sees_the_same_key(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-5, ID-7, ER-4"""
    broker.script({"do": "take-and-hang", "times": 1}, {**FAILS, "times": 5})
    desk.do_order()
    desk.work()
    work_until_dead(desk)
    assert desk.outcome()["status"] == "failed"
    with desk.app.session() as session:
        sent = desk.app.dead_letters.where(name="send-order")
        desk.app.dead_letters.redrive(session, sent, by="mika", reason="the broker is back")
    assert desk.outcome()["status"] == "accepted"
    desk.work()
    assert desk.outcome()["status"] == "succeeded"
    assert list(broker.traffic()["byKey"].values()) == [7]
    assert len(broker.orders()) == 1


def test_no_more_than_so_many_orders_a_second_are_sent(
    small_desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-6: twenty, by the clock that stands still until it is moved."""
    for number in range(25):
        small_desk.do_order(f"k-{number}")
    small_desk.work()
    assert len(broker.orders()) == 20
    small_desk.work("1s")
    assert len(broker.orders()) == 25


def test_an_outage_buries_no_order_and_storms_no_broker(
    small_desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-6: after ten failures in a row the broker rests, and orders wait."""
    broker.script(FAILS)
    keys = [f"k-{number}" for number in range(30)]
    for key in keys:
        small_desk.do_order(key)
    small_desk.work(*["30s"] * 10)
    assert small_desk.dead_letters() == []
    assert requests(broker) < 30, "most were not even tried"
    assert {small_desk.outcome(key)["status"] for key in keys} == {"accepted"}
    broker.script()
    small_desk.work("30s", *["2m"] * 3)
    assert {small_desk.outcome(key)["status"] for key in keys} == {"succeeded"}
    assert len(broker.orders()) == 30


def test_what_is_written_about_a_failure_names_no_account(
    small_desk: Sandbox, broker: PaperBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """SE-2, ID-9"""
    caplog.set_level("DEBUG")
    broker.script({**FAILS, "times": 1}, {"do": "refuse", "code": "MARKET_CLOSED"})
    small_desk.do_order()
    small_desk.work("6s")
    (letter,) = small_desk.dead_letters()
    assert BROKER_ORDER["account"] not in letter.message + letter.traceback
    assert BROKER_ORDER["account"] not in caplog.text
