"""All checks, one after the other; none that fails keeps the others from being made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from todoke.databases.health import Check, Health, Patient
from todoke.databases.healths import health_of
from todoke.doctor.clock import clock
from todoke.doctor.connections import connections
from todoke.doctor.reach import reach, tables, wake_up, why
from todoke.doctor.workers import backlog, workers
from todoke.errors import TodokeError
from todoke.finding import Finding, bad, unknown

if TYPE_CHECKING:
    from todoke.app import Todoke

LONG_TRANSACTION = "1m"


def examine(app: Todoke, long_transaction: float) -> list[Finding]:
    """The findings; where the database cannot be reached, that one alone."""
    reached = reach(app)
    if reached.verdict != "ok":
        return [reached]
    examination = _Examination(app, health_of(app.database), long_transaction)
    return [reached, *examination.findings(), wake_up(app)]


class _Examination:
    """Makes checks, each in a transaction of its own."""

    def __init__(self, app: Todoke, health: Health, long_transaction: float) -> None:
        self._app, self._health, self._long = app, health, long_transaction
        self._account = ""

    def findings(self) -> Iterator[Finding]:
        fit = self._made(Check("tables", partial(tables, self._app)))
        yield from fit
        has_tables = all(one.verdict == "ok" for one in fit)
        for check in self._checks():
            if has_tables or not check.needs_tables:
                yield from self._made(check)
            else:
                yield unknown(check.name, "not looked at without tables", "Run `todoke migrate`.")

    def _checks(self) -> Sequence[Check]:
        app = self._app
        return [
            *self._health.checks,
            Check("connections", partial(connections, app, self._health)),
            Check("clock", partial(clock, app)),
            Check("workers", partial(workers, app), needs_tables=True),
            Check("backlog", partial(backlog, app), needs_tables=True),
        ]

    def _made(self, check: Check) -> list[Finding]:
        try:
            with (
                self._app.engine.connect() as connection,
                self._health.examination(connection),
            ):
                return list(check.look(self._patient(connection)))
        except (SQLAlchemyError, OSError) as error:
            return [self._not_made(check, error)]
        except TodokeError as error:
            return [bad(check.name, str(error), "Do what the message says.")]

    def _patient(self, connection: Connection) -> Patient:
        app = self._app
        self._account = self._account or self._health.account(connection)
        return Patient(
            connection=connection,
            database=app.database,
            settings=app.settings,
            account=self._account,
            live=[app.outbox_table.live, app.inbox_table.live, app.jobs_table.live],
            long_transaction=self._long,
        )

    def _not_made(self, check: Check, error: Exception) -> Finding:
        if self._health.is_denied(error):
            right = check.right or "Let the owner of the database run `todoke doctor`."
            return unknown(
                check.name,
                "may not be looked at by this account",
                right.format(account=self._account),
            )
        return unknown(
            check.name,
            f"could not be looked at: {why(error)}",
            "Run `todoke doctor` again when the database is less busy.",
        )
