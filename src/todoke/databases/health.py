"""What `todoke doctor` asks of a database; each kind answers in a module of its own.

A check only reads, in a short transaction with short time-outs, so that it can be run on a
database that is sick. What it must not see, or does not see in time, is `unknown`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sqlalchemy import Connection, Table

from todoke.database import Database, reading
from todoke.finding import Finding, bad, ok
from todoke.settings import Settings

STATEMENT_SECONDS = 3.0
"""An answer that takes longer is not waited for."""


@dataclass(frozen=True, kw_only=True)
class Patient:
    """What a check may look at: one connection, in a transaction that only reads."""

    connection: Connection
    database: Database
    settings: Settings
    account: str
    """Who we are, as a GRANT names it."""
    live: Sequence[Table]
    """The tables that rows come to and leave all the time."""
    long_transaction: float

    def row(self, statement: Any, values: Mapping[str, Any] | None = None) -> Any:
        return self.connection.execute(statement, values or {}).one()

    def rows(self, statement: Any, values: Mapping[str, Any] | None = None) -> Sequence[Any]:
        return self.connection.execute(statement, values or {}).all()


Look: TypeAlias = Callable[[Patient], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """One question, under the name that its findings carry."""

    name: str
    look: Look
    right: str | None = None
    """What has to be granted for it."""
    needs_tables: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """How many sessions the server lets in, and how many of them others have now."""

    sessions: int
    others: int
    limit: str
    """The setting that says so, with its value."""


class Health(ABC):
    """The questions that one kind of database can answer."""

    checks: Sequence[Check]

    def room(self, patient: Patient) -> Room | None:
        """None where there is no server."""
        return None

    @contextmanager
    def examination(self, connection: Connection) -> Iterator[None]:
        """A transaction that reads, gives up soon, and waits for no lock."""
        with reading(connection):
            yield

    def account(self, connection: Connection) -> str:
        """Who we are, as a GRANT names it."""
        return ""

    @abstractmethod
    def is_denied(self, error: Exception) -> bool:
        """A right is missing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A setting of the server, the values at which nothing is lost, and how to get there."""

    name: str
    good: frozenset[str]
    harm: str
    remedy: str

    def broken_by(self, value: str) -> bool:
        return value.lower() not in self.good

    def named(self, **names: str) -> Rule:
        """With the account and the database in its remedy."""
        return replace(self, remedy=self.remedy.format(**names))


def rule(name: str, good: str, harm: str, remedy: str) -> Rule:
    return Rule(name, frozenset(good.split()), harm, remedy)


def by_rules(check: str, rules: Sequence[Rule], values: Mapping[str, str]) -> Iterator[Finding]:
    """A finding for each setting that does harm; one for all where none does."""
    broken = [one for one in rules if one.name in values and one.broken_by(values[one.name])]
    for one in broken:
        yield bad(check, f"{one.name} = {values[one.name]}: {one.harm}", one.remedy)
    if not broken:
        yield ok(check, told(values))


def told(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
