"""Applications as tests build them, and what can be seen of their tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, Row, select

from todoke import Event, Key, Settings, Todoke
from todoke.clock import Clock as AnyClock
from todoke.operate import DeadLetter
from todoke.testing import Clock
from todoke.work.lease import RowLeases, Service


class Placed(Event):
    """The event most tests publish."""

    order_id: Key[int]
    note: str = ""


class Shipped(Event, ordered=False):
    order_id: int = 0


class Noted(Event, ordered=False):
    """Has a key, and asks for no order."""

    order_id: Key[int]
    note: str = ""


@contextmanager
def application(
    url: str | Engine,
    *,
    clock: AnyClock | None = None,
    settings: dict[str, object] | None = None,
) -> Iterator[Todoke]:
    """A migrated application under a test's clock, closed at the end."""
    given = Settings(settings or {}, environment={})
    app = Todoke(url, clock=clock or Clock(), settings=given)
    app.random = Steady([0.5])
    app.migrate()
    try:
        yield app
    finally:
        app.close()


def publish(app: Todoke, *events: Event, **options: Any) -> None:
    """Publish in a transaction of its own."""
    with app.session() as session:
        app.publish_all(session, events, **options)


def living(app: Todoke) -> list[Row[Any]]:
    """Rows of the outbox that are not settled, in the order of their ids."""
    return rows(app, app.outbox_table.live)


def history(app: Todoke) -> list[Row[Any]]:
    return rows(app, app.outbox_table.history)


def deliveries(app: Todoke) -> list[Row[Any]]:
    return rows(app, app.inbox_table.live)


def rows(app: Todoke, table: Any) -> list[Row[Any]]:
    with app.engine.connect() as connection:
        return list(connection.execute(select(table).order_by(table.c.id)))


def letters(app: Todoke) -> list[DeadLetter]:
    with app.session() as session:
        return app.dead_letters.list(session).items


def statuses(app: Todoke) -> list[tuple[str, int]]:
    """Status and attempts of all that was published, oldest first."""
    with app.session() as session:
        found = app.events.list(session)
    return [(one.status, one.attempts) for one in reversed(found)]


def register(app: Todoke, seconds: float = 15, **handlers: Sequence[str]) -> UUID:
    """A worker process that is alive for so long; its handlers by event type."""
    worker = app.identities.draw()
    registers = {
        f"*/{kind}": dict.fromkeys(names, f"{app.name}/default") for kind, names in handlers.items()
    }
    with app.engine.begin() as connection:
        service = Service(registers, {})
        leases(app, seconds).register(connection, worker, "elsewhere:1", service)
    return worker


def leases(app: Todoke, seconds: float = 15) -> RowLeases:
    return RowLeases(app.worker_table, app.database, seconds, *app.freed_with_a_process)


class Steady(Random):
    """Numbers that a test chose, over and over."""

    def __init__(self, numbers: Sequence[float]) -> None:
        super().__init__(0)
        self._numbers, self._next = numbers, 0

    def random(self) -> float:
        self._next += 1
        return self._numbers[(self._next - 1) % len(self._numbers)]
