"""Broker orders and real worker processes: how many send at once, and what a crash leaves."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from tests.waiting import until

from shop.paper_broker.running import PaperBroker
from shop.testing import Sandbox
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


def test_a_worker_that_dies_before_it_wrote_the_answer_down_orders_nothing_twice(
    desk: Sandbox, broker: PaperBroker, clock: Clock
) -> None:
    """ID-7: the broker has the order, and nobody here knows; the same key finds out."""
    desk.do_order()
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
