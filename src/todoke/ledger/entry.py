"""An entry of the ledger, and what asking for a key may be answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from todoke import codec

State: TypeAlias = Literal["accepted", "succeeded", "failed"]
ACCEPTED: Final = "accepted"
SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"
STATES: tuple[State, ...] = (ACCEPTED, SUCCEEDED, FAILED)

_LARGEST = 1 << 30
"""Responses were bounded when they were stored."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What was asked for under a key, and what came of it; without a date it does not expire."""

    id: UUID
    tenant: str
    caller: str
    operation: str
    key: str
    digest: str
    state: State
    message_id: UUID
    status_code: int | None
    response: Any = field(repr=False)  # it may be personal
    error_code: str | None
    error_message: str | None
    accepted_at: datetime
    settled_at: datetime | None
    expires_at: datetime | None
    _messages: list[UUID] = field(default_factory=list, init=False, repr=False, compare=False)

    def note_message(self) -> None:
        """A message was published that settles it."""
        self._messages.append(self.message_id)

    @property
    def has_message(self) -> bool:
        """Something was published with `settles=` this very object."""
        return bool(self._messages)


@dataclass(frozen=True, slots=True)
class Accepted:
    """Nobody asked under this key before: go on."""

    entry: LedgerEntry


@dataclass(frozen=True, slots=True)
class Replay:
    """The same was asked before, and is settled: this is what came of it."""

    entry: LedgerEntry

    @property
    def response(self) -> Any:
        return self.entry.response


@dataclass(frozen=True, slots=True)
class InProgress:
    """The same was asked before, and is not settled yet; ask again after so many seconds."""

    entry: LedgerEntry
    retry_after: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something else was asked for under this key. The entry is the other request's."""

    entry: LedgerEntry


LedgerAnswer: TypeAlias = Accepted | Replay | InProgress | Conflict

FIELDS: tuple[str, ...] = tuple(one.name for one in fields(LedgerEntry) if one.init)


def entry_of(row: Sequence[Any]) -> LedgerEntry:
    """From a row as whatever driver has it: ids and moments may be texts."""
    told = dict(zip(FIELDS, row, strict=False))
    for name in ("id", "message_id"):
        told[name] = _id(told[name])
    for name in ("accepted_at", "settled_at", "expires_at"):
        told[name] = _moment(told[name])
    if told["response"] is not None:
        told["response"] = codec.load(told["response"], max_bytes=_LARGEST)
    return LedgerEntry(**told)


def _id(value: Any) -> UUID:
    return value if type(value) is UUID else UUID(str(value))


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
