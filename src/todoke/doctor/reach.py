"""Whether the database answers, has our tables, and can wake a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from todoke.database import safe_url
from todoke.databases import schema
from todoke.databases.bells import ear_for
from todoke.databases.health import Patient
from todoke.databases.sqlite import in_memory, missing_file
from todoke.errors import MissingDriver, SchemaOutdated
from todoke.finding import Finding, bad, lasting, ok, warn

if TYPE_CHECKING:
    from todoke.app import Todoke


def reach(app: Todoke) -> Finding:
    place = safe_url(app.url)
    if missing := missing_file(app.url):
        remedy = "Run `todoke migrate`; if it lies elsewhere, correct database.url."
        return bad("database", f"there is no {missing}", remedy)
    start = app.clock.monotonic()
    try:
        with app.engine.connect():
            took = app.clock.monotonic() - start
    except MissingDriver as error:
        return bad("database", f"{place} needs a driver: there is no {error.driver}", error.remedy)
    except SQLAlchemyError as error:
        remedy = "Start it, or correct database.url; `todoke settings` shows where that came from."
        return bad("database", f"{place} cannot be reached: {why(error)}", remedy)
    return ok("database", f"{place} can be reached, within {lasting(took)}")


def tables(app: Todoke, patient: Patient) -> Iterator[Finding]:
    try:
        revision = schema.check(patient.connection, app.database)
    except SchemaOutdated as error:
        found = f"at revision {error.found}" if error.found else "missing"
        wanted = f"this release needs {error.wanted}"
        yield bad("tables", f"todoke's tables are {found}, {wanted}", "Run `todoke migrate`.")
    else:
        yield ok("tables", f"at revision {revision}")


def wake_up(app: Todoke) -> Finding:
    """Rings once and waits for it, as a worker does when it starts."""
    poll = app.settings.seconds("outbox.poll")
    if app.database.shortest_poll is not None or in_memory(app.url):
        return ok("wake-up", f"this database cannot call: workers poll, at most every {poll:g} s")
    straight = app.settings.get("database.listen_url")
    try:
        url = make_url(straight) if straight else None
        ear = ear_for(app.database, app.url, url, lambda _: None, gap=0.0, poll=poll)
        took = ear.try_once()
    except (OSError, ArgumentError) as error:
        name = "database.listen_url" if straight else "database.url"
        found = f"the ear cannot listen, so events wait up to {poll:g} s: {error}"
        return warn("wake-up", found, f"Correct {name}.")
    if took is None:
        return _deaf(app, poll)
    what = (
        "a look at the file takes" if app.database.kind == "sqlite" else "a NOTIFY is heard after"
    )
    return ok("wake-up", f"{what} {lasting(took)}")


def _deaf(app: Todoke, poll: float) -> Finding:
    if app.database.kind == "sqlite":
        found, remedy = (
            "the file is locked by another process",
            "End the transaction that locks it.",
        )
    else:
        found = "a NOTIFY is not heard; usual cause: a pooler in transaction mode"
        remedy = "Set database.listen_url to an address that leads straight to the server"
        remedy += ", and database.prepare to false." if app.database.prepares else "."
    return warn("wake-up", f"{found}; events wait up to {poll:g} s (outbox.poll)", remedy)


def why(error: Exception) -> str:
    """What the driver said, without the statement."""
    return " ".join(str(error.orig if isinstance(error, DBAPIError) else error).split())
