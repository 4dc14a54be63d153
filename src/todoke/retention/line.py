"""A row as one line of canonical JSON, and back; it says its format and what kind of row it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Column, Table, Uuid

from todoke import codec
from todoke.database import Moment

VERSION = 1
_LARGEST = 1 << 30
"""Bodies were bounded when they were published."""


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """One kind of row that is archived: its name in files, its table, and when it was over."""

    name: str
    table: Table
    over: str


@dataclass(frozen=True, slots=True)
class Line:
    """One archived row, its values as the database's driver wants them."""

    kind: str
    row: Mapping[str, Any]

    @property
    def id(self) -> Any:
        return self.row["id"]


def write_line(kind: Kind, row: Mapping[str, Any]) -> bytes:
    values = {column.name: _plain(row[column.name]) for column in kind.table.c}
    return codec.dump({"archive": VERSION, "kind": kind.name, "row": values}).encode() + b"\n"


class NotALine(ValueError):
    """Not what `write_line` wrote; the message says why."""


def read_line(kinds: Mapping[str, Kind], text: bytes) -> Line:
    try:
        told = codec.load(text.decode(), max_bytes=_LARGEST)
        version, kind, row = told["archive"], told["kind"], told["row"]
        if version == VERSION:
            table = kinds[kind].table
            return Line(kind, {name: _typed(table.c[name], value) for name, value in row.items()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # What stands there may be personal, so it is not told.
        raise NotALine("it holds a line that todoke did not write.") from error
    raise NotALine(f"it is of format {version}, this release reads {VERSION}. Install another one.")


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case UUID():
            return str(value)
    return value


def _typed(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, Moment):
        return datetime.fromisoformat(value)
    return UUID(value) if isinstance(column.type, Uuid) else value
