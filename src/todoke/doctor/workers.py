"""Who works, and what waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from todoke.databases.health import Patient
from todoke.finding import Finding, lasting, ok, warn
from todoke.runtime import Runtime

if TYPE_CHECKING:
    from todoke.app import Todoke

# OP-1: more than so many is worth a warning.
_MUCH_PENDING, _MANY_LETTERS = 100, 10


def workers(app: Todoke, patient: Patient) -> Iterator[Finding]:
    registered = app.events.status(patient.connection).workers
    living = Runtime(app).leases.living(patient.connection)
    silent = [str(one["name"]) for one in registered if one["id"] not in living]
    if silent:
        yield warn(
            "workers",
            f"{len(silent)} stopped renewing and have not been replaced yet: {', '.join(silent)}",
            "Look whether they hang or were killed; a living worker takes their work over.",
        )
    if living:
        yield ok("workers", f"{len(living)} renew their lease")
    else:
        yield warn("workers", "none is running: what waits stays", "Start `todoke worker`.")


def backlog(app: Todoke, patient: Patient) -> Iterator[Finding]:
    figures = app.events.status(patient.connection)
    oldest = figures.oldest_pending
    waiting = f"{figures.pending} pending"
    if oldest is not None and figures.pending:
        waiting += f", the oldest for {lasting(oldest.total_seconds())}"
    found = f"{waiting}; {figures.dead} open dead letters"
    remedies = []
    if figures.pending > _MUCH_PENDING:
        remedies.append("`todoke status` shows who works; start more workers if none is idle.")
    if figures.dead > _MANY_LETTERS:
        remedies.append("`todoke dead-letters list` shows why they died.")
    yield warn("backlog", found, " ".join(remedies)) if remedies else ok("backlog", found)
