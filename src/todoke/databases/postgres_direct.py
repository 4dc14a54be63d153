"""Single statements straight to the driver.

A claim stands between a commit and its handler, so here the way counts: sent by itself a statement
needs no BEGIN and no COMMIT, each a trip to the server, and no description of its columns, which
takes longer to make than a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Compiled, Connection
from sqlalchemy.exc import DBAPIError

from todoke.database import Moment

DRIVER = "psycopg"
_KEEPS_TO_INDEXES = "todoke_keeps_to_indexes"


def keep_to_indexes(driver: Any, record: Any) -> None:
    """Let no plan of this connection read whole tables while there is an index.

    An idle worker asks an empty table, and PostgreSQL keeps the plan that is best for that: reading
    all of it. When 50,000 events come at once, each claim would take half a second.
    """
    driver.execute("SET enable_seqscan = off")
    driver.execute("SET TIME ZONE 'UTC'")  # moments then need no conversion
    driver.commit()
    record.info[_KEEPS_TO_INDEXES] = True


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement as the driver takes it, and what SQLAlchemy would do to some of its columns."""

    compiled: Compiled
    text: str
    changed: Sequence[tuple[int, Callable[[Any], Any]]]


class Direct:
    """Keeps the plans of the statements it has run; there are few, and they live as long."""

    def __init__(self) -> None:
        self._plans: dict[Any, Plan] = {}

    def fetch(
        self,
        connection: Connection,
        statement: Any,
        values: Mapping[str, Any],
        *,
        within: bool = False,
    ) -> list[Sequence[Any]]:
        """The rows it answers; `within` a transaction that has begun, or as one by itself."""
        plan = self._plans.get(statement)
        if plan is None:
            plan = self._plans[statement] = _plan(connection, statement)
        parameters = plan.compiled.construct_params(dict(values))
        rows = _run(connection, plan.text, parameters, within=within)
        return [_changed(row, plan.changed) for row in rows] if plan.changed else rows


def _plan(connection: Connection, statement: Any) -> Plan:
    dialect = connection.dialect
    types = [column.type.dialect_impl(dialect) for column in statement.exported_columns]
    processors = [
        _in_utc if isinstance(one, Moment) else one.result_processor(dialect, None) for one in types
    ]
    changed = [(place, one) for place, one in enumerate(processors) if one is not None]
    compiled = statement.compile(dialect=dialect)
    return Plan(compiled, str(compiled), changed)


def _run(
    connection: Connection, statement: str, parameters: Any, *, within: bool
) -> list[Sequence[Any]]:
    driver: Any = connection.connection.driver_connection
    # On connections of the user's, whose plans are not ours to guide, each claim is planned anew.
    prepare = None if _KEEPS_TO_INDEXES in connection.info else False
    with errors_of(connection, statement):
        if within:
            return list(driver.execute(statement, parameters).fetchall())
        driver.autocommit = True
        try:
            return list(driver.execute(statement, parameters, prepare=prepare).fetchall())
        finally:
            if not driver.closed:
                driver.autocommit = False


@contextmanager
def errors_of(connection: Connection, statement: str) -> Iterator[None]:
    """What the driver raises inside, raised as SQLAlchemy would."""
    dialect: Any = connection.dialect
    driver = connection.connection.driver_connection
    try:
        yield
    except dialect.loaded_dbapi.Error as error:
        lost = dialect.is_disconnect(error, driver, None)
        if lost:
            connection.invalidate(error)
        raise _wrapped(dialect, statement, error, lost=lost) from error


def _wrapped(dialect: Any, statement: str, error: Exception, *, lost: bool) -> BaseException:
    """The error as SQLAlchemy would have raised it."""
    return DBAPIError.instance(
        statement,
        None,
        error,
        dialect.loaded_dbapi.Error,
        hide_parameters=True,
        connection_invalidated=lost,
        dialect=dialect,
    )


def _in_utc(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo is UTC else moment.astimezone(UTC)


def _changed(
    row: Sequence[Any], changed: Sequence[tuple[int, Callable[[Any], Any]]]
) -> Sequence[Any]:
    values = list(row)
    for place, change in changed:
        values[place] = change(values[place])
    return values
