"""Restoring: archived rows go back to where they were; what is there already stays as it is.

A restored row gets a clean-up date of its own (`expires_at`), as far away as if it had just been
settled: it is old, and the cleaner would take it again at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, select

from todoke.database import Database
from todoke.retention.file import files_in, read
from todoke.retention.line import Kind, Line
from todoke.retention.period import Retention
from todoke.work.table import WorkTable

LETTER = "dead-letter"
_PORTION = 500


@dataclass(frozen=True, slots=True)
class Restored:
    """How many rows of each kind came back, and how many were there already."""

    restored: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)


class Restoring:
    """Puts archived rows back, in the caller's transaction."""

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        tables: Sequence[WorkTable],
        database: Database,
        retention: Callable[[], Retention],
    ) -> None:
        self._kinds, self._retention = kinds, retention
        self._back = {
            kind.name: database.add_missing(kind.table).values(expires_at=database.after("keep"))
            for kind in kinds.values()
        }
        self._present = {
            kind.name: select(kind.table.c.id).where(
                kind.table.c.id.in_(bindparam("ids", expanding=True))
            )
            for kind in kinds.values()
        }
        self._alive = {
            table.source: [
                select(one.c.id).where(database.among(one.c.id, "ids"))
                for one in (table.live, table.history)
            ]
            for table in tables
        }

    def restore(
        self,
        connection: Connection,
        files: Sequence[Path],
        message: UUID | None,
        kind: str | None,
    ) -> Restored:
        told = Restored()
        closings = _Closings(self._kinds)
        for file in files:
            for lines in _portions(_chosen(read(file, self._kinds), message, kind)):
                for name in self._kinds:
                    rows = {line.id: line.row for line in lines if line.kind == name}
                    if rows:
                        known = closings.of(file.parent, rows) if name == LETTER else rows
                        self._restore(connection, name, known, told)
        return told

    def _restore(
        self,
        connection: Connection,
        kind: str,
        rows: Mapping[Any, Mapping[str, Any]],
        told: Restored,
    ) -> None:
        present = set(connection.execute(self._present[kind], {"ids": list(rows)}).scalars())
        if kind == LETTER:
            present |= self._sent_again(connection, rows)
        missing = [row for id, row in rows.items() if id not in present]
        if missing:
            self._insert(connection, kind, missing)
            told.restored[kind] += len(missing)
        if present:
            told.present[kind] += len(present)

    def _insert(self, connection: Connection, kind: str, rows: Sequence[Mapping[str, Any]]) -> None:
        # An older archive may lack a column, which then gets its default.
        for _, some in groupby(rows, key=sorted):
            keep = {"keep": self._seconds(kind)}
            values = [{**row, **keep} for row in some]
            for value in values:
                del value["expires_at"]
            connection.execute(self._back[kind], values)

    def _sent_again(
        self, connection: Connection, rows: Mapping[Any, Mapping[str, Any]]
    ) -> set[UUID]:
        """Open letters whose message lives, or was processed: they were redriven since."""
        again: set[UUID] = set()
        for source, looks in self._alive.items():
            items = {
                row["item_id"]: id
                for id, row in rows.items()
                if row["source"] == source and row["closed_at"] is None
            }
            for look in looks if items else ():
                found = connection.execute(look, {"ids": list(items)}).scalars()
                again |= {items[item] for item in found}
        return again

    def _seconds(self, kind: str) -> float:
        retention = self._retention()
        periods = {"event": retention.processed, "delivery": retention.inbox}
        return periods.get(kind, retention.dead)


class _Closings:
    """A letter may have been archived open, brought back, closed, and archived again."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds = kinds
        self._known: dict[Path, dict[UUID, Mapping[str, Any]]] = {}

    def of(
        self, folder: Path, rows: Mapping[UUID, Mapping[str, Any]]
    ) -> dict[UUID, Mapping[str, Any]]:
        """The same letters, those that were closed later as they were then."""
        if folder not in self._known:
            self._known[folder] = {
                line.id: line.row
                for path in files_in(folder, LETTER)
                for line in read(path, self._kinds)
                if line.row["closed_at"] is not None
            }
        known = self._known[folder]
        return {id: known.get(id, row) for id, row in rows.items()}


def _chosen(lines: Iterable[Line], message: UUID | None, kind: str | None) -> Iterator[Line]:
    return (
        line
        for line in lines
        if kind in (None, line.kind) and message in (None, line.row["message_id"])
    )


def _portions(lines: Iterator[Line]) -> Iterator[list[Line]]:
    while some := list(islice(lines, _PORTION)):
        yield some
