"""Time that passes at once: from one moment at which something is due to the next."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from sqlalchemy import Connection, Row, Table, func, select, union_all

from todoke.app import Todoke
from todoke.database import reading
from todoke.limits import Bounds
from todoke.runtime import Runtime
from todoke.testing.clock import Clock
from todoke.work.item import LATER, READY
from todoke.work.strand import destination_of
from todoke.work.table import in_state

_FINEST = timedelta(milliseconds=1)


def travel(app: Todoke, clock: Clock, end: datetime) -> None:
    """Be one worker all the way: starting one takes longer than what most moments bring."""
    with Runtime(app).draining() as work:
        work()
        while (due := next_due(app)) is not None and due < end:
            clock.set(due)
            work()
        clock.set(end)
        work()


def next_due(app: Todoke) -> datetime | None:
    """Later than now; None where nothing waits for a time."""
    now = app.clock.now()
    with app.engine.connect() as connection, reading(connection):
        known = [*_waiting(app, connection), *_destinations(app, connection)]
    if (tick := app.schedules.soonest(now)) is not None:
        known.append(tick)
    return min((moment for moment in known if moment > now), default=None)


def _waiting(app: Todoke, connection: Connection) -> Iterator[datetime]:
    """The first of each table whose time has not come."""
    firsts = [
        select(func.min(live.c.scheduled_at)).where(in_state(live, LATER)) for live in _live(app)
    ]
    found = connection.execute(union_all(*firsts)).scalars()
    return (moment for moment in found if moment is not None)


def _destinations(app: Todoke, connection: Connection) -> Iterator[datetime]:
    """When those have room again for which something is ready."""
    bounds = app.handlers.bounds
    if not any(one.rate or one.breaker for one in bounds.values()):
        return
    wanted = {destination_of(stream) for stream in _ready(app, connection)}
    known = select(_table(app, "destinations"))
    for row in connection.execute(known):
        if row.name in wanted & bounds.keys():
            yield from _room_at(row, bounds[row.name])


def _ready(app: Todoke, connection: Connection) -> Iterator[str]:
    for live in _live(app):
        streams = select(live.c.stream).where(in_state(live, READY)).distinct()
        yield from connection.execute(streams).scalars()


def _room_at(row: Row[Any], bounds: Bounds) -> Iterator[datetime]:
    """The breaker has rested, or the rate has a whole token."""
    if bounds.breaker is not None and row.open_until is not None:
        yield row.open_until
    if bounds.rate is not None and row.refilled_at is not None:
        missing = (1 - row.tokens) * bounds.rate.within / bounds.rate.count
        yield row.refilled_at + ceil(missing / _FINEST) * _FINEST


def _table(app: Todoke, name: str) -> Table:
    named = f"{app.database.prefix}{name}"
    return next(one for one in app.metadata.sorted_tables if one.name == named)


def _live(app: Todoke) -> list[Table]:
    return [app.outbox_table.live, app.inbox_table.live, app.jobs_table.live]
