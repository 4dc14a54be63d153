"""Broker orders under repetition: brokers that die."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shop.mailbox.server import MailServer
from shop.paper_broker.running import PaperBroker
from shop.testing import Sandbox, sandbox
from tests.counts import Counts
from todoke.testing import Clock

Record = Callable[[str, object], None]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[PaperBroker]:
    with PaperBroker(tmp_path) as found:
        yield found


@pytest.fixture
def desk(migrated_url: str, mail_server: MailServer, broker: PaperBroker) -> Iterator[Sandbox]:
    with sandbox(migrated_url, mail_server, Clock(), broker.url) as found:
        yield found


def test_a_broker_that_dies_between_taking_and_answering_gets_no_order_twice(
    desk: Sandbox, broker: PaperBroker, counts: Counts, record_property: Record
) -> None:
    """ID-7, ID-5: and in the end ledger and outbox agree for every key."""
    keys = [f"k-{number}" for number in range(counts.broker_deaths)]
    deaths = 0
    for key in keys:
        assert desk.do_order(key).status_code == 202
        broker.script({"do": "take-and-die"})
        desk.work()
        assert desk.outcome(key)["status"] == "accepted", "nobody here knows that it was taken"
        deaths += broker.wait() == 70
        broker.start()
        desk.work("6s")
    orders = Counter(taken["order"]["clientOrderId"] for taken in broker.orders())
    receipts = {taken["order"]["clientOrderId"]: taken["receipt"] for taken in broker.orders()}
    outcomes = {key: desk.outcome(key) for key in keys}
    record_property("deaths of the broker", deaths)
    record_property("orders", len(orders))
    record_property("orders taken twice", sum(times > 1 for times in orders.values()))
    assert deaths == counts.broker_deaths
    assert orders == Counter(keys)
    assert {key: one["result"] for key, one in outcomes.items()} == receipts
    assert {key: one["status"] for key, one in outcomes.items()} == dict.fromkeys(keys, "succeeded")
    assert settled(desk, keys) == dict.fromkeys(keys, "PROCESSED")


def settled(desk: Sandbox, keys: list[str]) -> dict[str, str]:
    """How the delivery of each key's order ended."""
    with desk.app.session() as session:
        found = [desk.app.events.list(session, key=key) for key in keys]
    return {one.key: one.status for records in found for one in records if one.handler}
