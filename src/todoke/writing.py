"""Statements in their order, without a word about who runs them.

Publishing is a few statements, and whoever runs them may be a SQLAlchemy Connection, a driver's own
connection, or an async one. So their order is written once, as a generator of steps; it is answered
what each step found, and ends with what is known when all are done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import Connection, Table

R = TypeVar("R")


class Execute(NamedTuple):
    """Run a statement, once or for each of many rows of values."""

    statement: Any
    values: Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Ask(NamedTuple):
    """Run a statement for the one value it finds."""

    statement: Any


class Find(NamedTuple):
    """Run a statement for the first row it answers, or None; values as the driver has them."""

    statement: Any
    values: Mapping[str, Any]


class Copy(NamedTuple):
    """Stream many rows into a table: of each what it shares with others, and its own values."""

    table: Table
    own: Sequence[str]
    rows: Iterable[tuple[Mapping[str, Any], Sequence[Any]]]
    may_stop: bool = False
    """Making a row may raise: then none is written, and the transaction can go on."""


Step: TypeAlias = Execute | Ask | Find | Copy
Writing: TypeAlias = Generator[Step, Any, R]
Copier: TypeAlias = Callable[[Connection, Copy], None]


def run(writing: Writing[R], perform: Callable[[Step], Any]) -> R:
    """Perform each step in turn."""
    found: Any = None
    while True:
        try:
            step = writing.send(found)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        found = perform(step)


async def run_async(writing: Writing[R], perform: Callable[[Step], Awaitable[Any]]) -> R:
    """The same where performing is awaited."""
    found: Any = None
    while True:
        try:
            step = writing.send(found)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        found = await perform(step)


def perform_on(connection: Connection, copier: Copier | None) -> Callable[[Step], Any]:
    """Performs steps on a SQLAlchemy Connection."""

    def perform(step: Step) -> Any:
        match step:
            case Execute(statement, values):
                connection.execute(statement, values)
            case Ask(statement):
                return connection.execute(statement).scalar_one()
            case Find(statement, values):
                return connection.execute(statement, values).first()
            case Copy():
                assert copier is not None  # noqa: S101
                copier(connection, step)
        return None

    return perform
