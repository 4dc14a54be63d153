"""Whether the server has room for all the connections a worker may open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import NullPool, Pool, QueuePool

from todoke.databases.health import Health, Patient, Room
from todoke.finding import Finding, bad, ok, warn

if TYPE_CHECKING:
    from todoke.app import Todoke


def connections(app: Todoke, health: Health, patient: Patient) -> Iterator[Finding]:
    room = health.room(patient)
    if room is None:
        return
    found = judged(demand(app), app.settings.number("worker.processes"), room)
    if found.verdict != "ok" and app.settings.get("database.listen_url"):
        # A pooler lets more in than it opens; its own limits cannot be seen from here.
        pooled = f"{found.found} (database.listen_url is set: behind a pooler its limits count)"
        found = replace(found, verdict="warn", found=pooled)
    yield found


def demand(app: Todoke) -> dict[str, int]:
    """What one worker process may open at most, and for whom."""
    slots = sum(app.settings.queues.values())
    wanted = {"handlers": _most(app.engine.pool, slots)}
    if app.agents_engine is not app.engine:
        wanted["agents"] = _most(app.agents_engine.pool, slots)
    if any(one.is_async and one.session_parameter for one in app.handlers.by_name.values()):
        wanted["async handlers"] = _most(app.async_engine.sync_engine.pool, slots)
    if app.database.kind == "postgresql":
        wanted["ear and bell"] = 2
    return wanted


def judged(wanted: dict[str, int], processes: int, room: Room) -> Finding:
    each = sum(wanted.values())
    parts = ", ".join(f"{name} {count}" for name, count in wanted.items())
    free = room.sessions - room.others
    found = (
        f"a worker may open {each * processes}, {processes} x {each} ({parts}); "
        f"{room.limit}, others have {room.others}: room for {free}"
    )
    remedy = (
        "Lower worker.threads, worker.queues or worker.processes, "
        f"or raise the limit to {each * processes + room.others} or more."
    )
    if each * processes > room.sessions:
        return bad("connections", found, remedy)
    if each * processes > free:
        return warn("connections", found, remedy)
    return ok("connections", found)


def _most(pool: Pool, slots: int) -> int:
    """One that bounds nothing opens a connection for each handler that runs."""
    if isinstance(pool, QueuePool):
        overflow = pool._max_overflow
        return pool.size() + (overflow if overflow >= 0 else slots)
    return slots if isinstance(pool, NullPool) else 1
