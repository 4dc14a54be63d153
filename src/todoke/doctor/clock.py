"""Whether this machine and the database agree what time it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import select

from todoke.databases.health import Patient
from todoke.finding import Finding, bad, lasting, ok, warn

if TYPE_CHECKING:
    from todoke.app import Todoke

_TRIES = 3
_MUCH = 1.0
_REMEDY = "Let both machines follow a time server: `chronyc tracking` shows how far each is off."


def clock(app: Todoke, patient: Patient) -> Iterator[Finding]:
    """The quickest of a few questions tells most: the answer was made somewhere on the way."""
    doubt, ahead = min(_ask(app, patient) for _ in range(_TRIES))
    yield judged(ahead, doubt, patient.settings.seconds("lease.duration"))


def judged(ahead: float, doubt: float, lease: float) -> Finding:
    """By what is certain: the difference beyond the doubt."""
    direction = "ahead of" if ahead >= 0 else "behind"
    found = (
        f"the database is {lasting(abs(ahead))} {direction} this machine, "
        f"give or take {lasting(doubt)}"
    )
    certain = abs(ahead) - doubt
    if certain > lease / 3:
        return bad("clock", f"{found}: more than a third of lease.duration", _REMEDY)
    if certain > _MUCH:
        return warn("clock", found, _REMEDY)
    return ok("clock", found)


def _ask(app: Todoke, patient: Patient) -> tuple[float, float]:
    before = app.clock.now()
    theirs = patient.connection.execute(select(app.database.own_time)).scalar_one()
    half = (app.clock.now() - before) / 2
    return half.total_seconds(), (theirs - (before + half)).total_seconds()
