"""A dead letter as people see it, and how they choose among many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import Table, and_
from sqlalchemy.sql import ColumnElement

from todoke.clock import Clock
from todoke.duration import Duration, duration
from todoke.errors import InvalidOption

T = TypeVar("T")
SOURCES = ("event", "delivery", "job")


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What was given up, why, and what became of it."""

    id: UUID
    source: str
    name: str
    message_id: UUID
    context: str
    type: str
    version: int
    aggregate: str
    key: str
    body: str
    error_class: str
    code: str
    message: str
    traceback: str
    attempts: int
    crashes: int
    created_at: datetime
    died_at: datetime
    seen_at: datetime | None
    closed_at: datetime | None
    closed_as: str | None
    corrected_body: str | None
    operation_id: int | None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of many; `next` asks for the following page."""

    items: list[T]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """What a person did to a selection of dead letters; id 0 is a dry run.

    `followed` of them had followers waiting behind them, which go on now.
    """

    id: int
    kind: str
    selected: int
    done: int
    followed: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """Dead letters that fit all that is given; the open ones unless asked otherwise."""

    source: str | None = None
    name: str | None = None
    code: str | None = None
    error_class: str | None = None
    older_than: timedelta | None = None
    ids: tuple[UUID, ...] | None = None

    def condition(
        self, letters: Table, clock: Clock, *, closed: bool = False
    ) -> ColumnElement[bool]:
        same = {
            "source": self.source,
            "name": self.name,
            "error_code": self.code,
            "error_class": self.error_class,
        }
        still_open = letters.c.closed_at.is_(None)
        wanted: list[Any] = [~still_open if closed else still_open]
        wanted += [letters.c[name] == value for name, value in same.items() if value is not None]
        if self.older_than is not None:
            wanted.append(letters.c.died_at <= clock.now() - self.older_than)
        if self.ids is not None:
            wanted.append(letters.c.id.in_(self.ids))
        return and_(*wanted)

    def told(self) -> dict[str, Any]:
        """The selection as it is kept with the operation."""
        return {
            name: _plain(value)
            for name in self.__dataclass_fields__
            if (value := getattr(self, name)) is not None
        }


def where(
    *,
    source: str | None = None,
    name: str | None = None,
    code: str | None = None,
    error_class: str | None = None,
    older_than: Duration | None = None,
    ids: Iterable[UUID | str] | None = None,
) -> Selection:
    """Choose open dead letters; nothing given means all of them."""
    if source is not None and source not in SOURCES:
        raise InvalidOption("source", source, f"one of {', '.join(SOURCES)}.")
    return Selection(
        source=source,
        name=name,
        code=code,
        error_class=error_class,
        older_than=None if older_than is None else duration(older_than, "older_than"),
        ids=None if ids is None else tuple(_uuid(one) for one in ids),
    )


def _uuid(value: UUID | str) -> UUID:
    try:
        return value if isinstance(value, UUID) else UUID(value)
    except ValueError:
        raise InvalidOption("ids", value, "not the id of a dead letter.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return [str(one) for one in value] if isinstance(value, tuple) else value
