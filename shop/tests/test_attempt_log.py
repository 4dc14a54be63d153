"""Each attempt is told to the log, with fields that can be searched for."""

import json
import logging
from contextlib import closing
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from shop.brokerage.adapter import AdapterFailed
from shop.brokerage.attempt_log import told
from shop.brokerage.messages import SendOrder
from shop.brokerage.model import OrderRequest
from shop.paper_broker.running import PaperBroker
from shop.testing import BROKER_ORDER, Sandbox
from todoke import Attempt, Backoff, Message, Settings, Todoke
from todoke.testing import Clock

FIELDS = ("idempotency_key", "status", "attempts", "last_error_code", "adapter")


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[object, ...]]:
    mine = [record for record in caplog.records if record.name == "shop.brokerage"]
    return [tuple(getattr(record, name) for name in FIELDS) for record in mine]


@pytest.fixture(autouse=True)
def loud(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "shop.brokerage")


def an_attempt(number: int = 1, of: int | None = 6) -> Attempt:
    now = datetime.now(UTC)
    message = Message(uuid4(), "SEND_ORDER", 1, "brokerage", "broker-order", "k-1", None, now)
    return Attempt(number, of, "send-order", message, now)


def test_every_attempt_is_told_with_key_status_attempts_error_code_and_adapter(
    small_desk: Sandbox, broker: PaperBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """ID-9"""
    broker.script({"do": "fail", "status": 500, "times": 1})
    small_desk.do_order()
    small_desk.work("6s")
    assert lines(caplog) == [
        ("k-1", "PROCESSING", 1, None, "http"),
        ("k-1", "PENDING", 1, "BROKER_500", "http"),
        ("k-1", "PROCESSING", 2, None, "http"),
        ("k-1", "PROCESSED", 2, None, "http"),
    ]


def test_a_refusal_is_told_as_the_end(
    small_desk: Sandbox, broker: PaperBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """ID-9"""
    broker.script({"do": "refuse", "code": "MARKET_CLOSED"})
    small_desk.do_order()
    small_desk.work()
    assert lines(caplog)[-1] == ("k-1", "DEAD", 1, "MARKET_CLOSED", "http")


def test_the_last_attempt_of_a_failing_order_is_told_as_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """ID-9"""
    with pytest.raises(AdapterFailed), told(an_attempt(6), "k-1", "http"):
        raise AdapterFailed("the broker was not reached", code="BROKER_UNREACHABLE")
    assert lines(caplog)[-1] == ("k-1", "DEAD", 6, "BROKER_UNREACHABLE", "http")


def test_an_error_without_a_reason_code_is_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """ID-5"""
    with pytest.raises(AdapterFailed) as failed, told(an_attempt(), "k-1", "odd"):
        raise RuntimeError("an adapter that nobody tested")
    assert failed.value.code == "INTERNAL_ERROR"
    assert lines(caplog)[-1] == ("k-1", "PENDING", 1, "INTERNAL_ERROR", "odd")


def test_an_order_whose_adapter_gives_no_reason_code_has_failed_with_internal_error(
    sqlite_copy: str,
) -> None:
    """ID-5: of the dead letter and of the outcome alike."""
    with closing(Todoke(sqlite_copy, settings=Settings(environment={}), clock=Clock())) as app:

        @app.on(SendOrder, retry=Backoff(attempts=1))
        async def send(event: SendOrder, attempt: Attempt) -> None:
            with told(attempt, event.client_key, "odd"):
                raise RuntimeError("an adapter that nobody tested")

        order = OrderRequest.model_validate(BROKER_ORDER)
        with app.session() as session:
            answer = app.ledger.accept(session, "k-1", order)
            app.publish(session, SendOrder(client_key="k-1", order=order), settles=answer.entry)
        app.drain()
        with app.session() as session:
            (letter,) = app.dead_letters.list(session).items
            entry = app.ledger.find(session, "k-1")
    assert entry is not None
    assert (entry.state, entry.error_code, letter.code) == ("failed", *["INTERNAL_ERROR"] * 2)


def test_the_text_of_a_line_holds_its_fields_whatever_the_key_looks_like(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """ID-9: no key can pretend to be another field."""
    key = 'x", "status": "PROCESSED'
    with told(an_attempt(), key, "http"):
        pass
    text = caplog.records[0].getMessage().removeprefix("broker order ")
    assert json.loads(text)["idempotency_key"] == key
    assert json.loads(text)["status"] == "PROCESSING"
