"""Broker orders and real worker processes: how many send at once, and what a crash leaves."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.waiting import until
from tests.work.running import worker as in_process

from shop.app import wired
from shop.brokerage.messages import SendOrder
from shop.brokerage.model import OrderRequest
from shop.mailbox.server import MailServer
from shop.paper_broker.running import PaperBroker
from shop.testing import BROKER_ORDER, Sandbox, settings_for
from todoke import Todoke
from todoke.operate import Accepted, DeadLetter
from todoke.testing import Clock


@pytest.fixture
def clock() -> Clock:
    """The time of the worker processes, which know no other."""
    return Clock(datetime.now(UTC))


@contextmanager
def worker(desk: Sandbox, broker: PaperBroker, **told: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process, without the supervisor that would start another."""
    told |= {
        "TODOKE_DATABASE_URL": desk.app.settings.database_url,
        "TODOKE_BROKER_URL": broker.url,
    }
    command = [sys.executable, "-c", "from shop.app import app; app.run()"]
    with subprocess.Popen(command, env=os.environ | told) as process:
        try:
            yield process
        finally:
            process.kill()


def test_at_most_four_orders_are_sent_at_once_by_all_workers_together(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-6"""
    broker.script({"do": "slow", "seconds": 0.5})
    for number in range(12):
        desk.do_order(f"k-{number}")
    with worker(desk, broker), worker(desk, broker):
        until(lambda: len(broker.orders()) == 12, 60)
    assert broker.traffic()["mostAtOnce"] == 4


def test_an_order_that_fails_alone_is_given_up_before_the_breaker_opens(
    sqlite_copy: str, mail_server: MailServer, broker: PaperBroker, tmp_path: Path
) -> None:
    """ID-5, ID-6: by one worker, which counts failures in a row."""
    settings = settings_for(sqlite_copy, mail_server, broker.url, tmp_path)
    quick = {"retry.broker-order.delays": ["20ms"] * 5, "outbox.poll": "20ms"}
    broker.script({"do": "fail", "status": 500})
    with closing(wired(Todoke(settings=settings.with_values(quick)))) as app:
        with app.session() as session:
            order = OrderRequest.model_validate(BROKER_ORDER)
            app.publish(session, SendOrder(client_key="k-1", order=order))
        with in_process(app):
            until(lambda: letters(app), 60)
        (letter,) = letters(app)
    assert (letter.code, letter.attempts) == ("BROKER_500", 6)
    assert broker.traffic()["requests"] == 6


def letters(app: Todoke) -> list[DeadLetter]:
    with app.session() as session:
        return app.dead_letters.list(session).items


def accept_unlogged(desk: Sandbox) -> None:
    """As the route does, but for the log's entry: the first handler that is called sends."""
    order = OrderRequest.model_validate(BROKER_ORDER)
    with desk.app.session() as session:
        told = {"caller": "desk-7", "operation": "do-order"}
        taken = desk.app.ledger.accept(session, "k-1", order, **told)
        assert isinstance(taken, Accepted)
        wish = SendOrder(client_key="k-1", order=order)
        desk.app.publish(session, wish, settles=taken.entry)


def test_a_worker_that_dies_before_it_wrote_the_answer_down_orders_nothing_twice(
    desk: Sandbox, broker: PaperBroker, clock: Clock
) -> None:
    """ID-7: the broker has the order, and nobody here knows; the same key finds out."""
    accept_unlogged(desk)
    with worker(desk, broker, TODOKE_CRASH="handler.after_call:1") as process:
        assert process.wait(60) == -signal.SIGKILL
    assert desk.outcome()["status"] == "accepted"
    desk.work("1h")
    assert list(broker.traffic()["byKey"].values()) == [2], "it was sent twice, with one key"
    (taken,) = broker.orders()
    assert desk.outcome()["result"] == taken["receipt"]
    assert desk.statuses("SEND_ORDER") == ["PROCESSED"]


def test_a_worker_that_dies_while_it_settles_leaves_message_and_outcome_agreeing(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-5: both are one transaction, so neither is there without the other."""
    desk.do_order()
    with worker(desk, broker, TODOKE_CRASH="ledger.after_settle:1") as process:
        assert process.wait(60) == -signal.SIGKILL
    assert desk.outcome()["status"] == "accepted"
    assert desk.statuses("SEND_ORDER") != ["PROCESSED"]
    desk.work("1h")
    assert desk.outcome()["status"] == "succeeded"
    assert desk.statuses("SEND_ORDER") == ["PROCESSED"]
    assert len(broker.orders()) == 1
