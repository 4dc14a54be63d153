"""Cleaning: a chunk is locked, archived, deleted and committed; then the next.

    select and lock ─▶ a frame on disk ─▶ delete ─▶ commit

Whoever dies before the commit leaves the rows where they were: they are archived once more later.
Rows that somebody else has locked are left to them, so any number may clean side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, bindparam, select
from sqlalchemy.sql import ColumnElement

from todoke import crash
from todoke.database import Database, reading
from todoke.loop import breathe
from todoke.retention.due import Due
from todoke.retention.file import Writer
from todoke.retention.line import Kind, write_line
from todoke.telemetry import Counts, log

CHUNK = 1000
"""How many rows go in one transaction."""
_PORTION = 100
_LARGEST_FRAME = 16 * 1024 * 1024
_REST, _BREATH = 60.0, 0.05
_ANEW = 3600.0
"""How often rows that were passed are looked at again."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What one look did: how many rows of which kind went; `more` where it ended early."""

    kind: str
    rows: int
    more: bool


class Cleaning:
    """Finds what is due and lets it go, chunk by chunk."""

    def __init__(
        self,
        dues: Sequence[Due],
        database: Database,
        writer: Writer | None,
        *,
        chunk: int = CHUNK,
    ) -> None:
        self.database: Database = database
        self._chunk = chunk
        # Where one transaction writes at a time, the others get their turn in between.
        self.breath: float = _BREATH if database.one_writer else 0.0
        self.removals: list[_Removal] = [_Removal(due, database, writer) for due in dues]

    def clean(self, connection: Connection, removal: _Removal) -> Cleaned:
        """One chunk at most."""
        due = removal.due
        with reading(connection):
            found = due.find(connection, self._chunk)
        gone = removal.run(connection, found.ids) if found.ids else 0
        # All of it was locked by another one: what does not walk would find the same again.
        more = found.more and (gone > 0 or due.walks)
        if not more:
            removal.look_back()
        return Cleaned(due.kind.name, gone, more)

    def clean_all(self, connection: Connection, tell: Callable[[str, int], None]) -> Counter[str]:
        """Every chunk, until nothing is due."""
        total: Counter[str] = Counter()
        for removal in self.removals:
            removal.due.restart()
            more = True
            while more:
                cleaned = self.clean(connection, removal)
                total[cleaned.kind] += cleaned.rows
                tell(cleaned.kind, cleaned.rows)
                more = cleaned.more
                breathe(self.breath)
        return total

    def count(self, connection: Connection) -> Counter[str]:
        """How many rows would go."""
        total: Counter[str] = Counter()
        with reading(connection):
            for removal in self.removals:
                total[removal.due.kind.name] += removal.due.count(connection)
        return total


class _Removal:
    """Takes chosen rows of one table out, into the archive if there is one."""

    def __init__(self, due: Due, database: Database, writer: Writer | None) -> None:
        self.due: Due = due
        self._database, self._writer = database, writer if due.archives else None
        self._passed = False
        table = due.kind.table
        locked = (_among(due.kind, database), due.still)
        now = database.now.label("cleaned_at")
        whole = select(table, now).where(*locked).order_by(table.c.id)
        self._whole = database.lock_by_id(whole, table)
        self._only_ids = database.lock_by_id(select(table.c.id).where(*locked), table)

    def run(self, connection: Connection, ids: Sequence[Any]) -> int:
        """Remove them, as far as nobody else has them locked; answers how many went."""
        try:
            gone = sum(self._runs(connection, list(ids)))
        except BaseException:
            self.due.restart()
            raise
        self._passed |= gone < len(ids)
        return gone

    def look_back(self) -> None:
        """What was locked is looked at again: who had it may have died."""
        if self._passed:
            self._passed = False
            self.due.restart()

    def _runs(self, connection: Connection, ids: list[Any]) -> Iterator[int]:
        """Mostly one; more where the rows are too large for one frame."""
        while ids:
            with connection.begin():
                if self._writer is None:
                    taken, gone = len(ids), self._lock(connection, ids)
                else:
                    taken, gone = self._archive(connection, self._writer, ids)
                if gone:
                    self._database.delete_rows(connection, self.due.kind.table, gone)
                crash.point("retention.before_commit")
            ids = ids[taken:]
            yield len(gone)

    def _lock(self, connection: Connection, ids: list[Any]) -> list[Any]:
        values = {**self.due.values, "ids": ids}
        return list(connection.execute(self._only_ids, values).scalars())

    def _archive(
        self, connection: Connection, writer: Writer, ids: list[Any]
    ) -> tuple[int, list[Any]]:
        """Write a frame; answers how many ids it is about, and which of them stand in it."""
        frame = _Frame(self.due.kind)
        taken = 0
        for some in _portions(ids):
            taken += len(some)
            rows = connection.execute(self._whole, {**self.due.values, "ids": some})
            for row in rows:
                frame.add(row)
            if frame.size >= _LARGEST_FRAME:
                break
        if frame.day is not None:
            crash.point("retention.before_write")
            writer.append(self.due.kind.name, frame.day, frame.lines)
            crash.point("retention.after_write")
        return taken, frame.ids


class _Frame:
    """Rows on their way into the archive."""

    def __init__(self, kind: Kind) -> None:
        self._kind, self.size = kind, 0
        self.lines: list[bytes] = []
        self.ids: list[Any] = []
        self.day: datetime | None = None

    def add(self, row: Row[Any]) -> None:
        line = write_line(self._kind, row._asdict())
        self.lines.append(line)
        self.ids.append(row.id)
        self.size, self.day = self.size + len(line), row.cleaned_at


class Cleaner:
    """The agent: a chunk at each tick, of one kind after the other."""

    def __init__(self, cleaning: Cleaning, counts: Counts | None = None) -> None:
        self._cleaning, self._counts = cleaning, Counts() if counts is None else counts
        self._clock = cleaning.database.clock
        self._began = self._clock.monotonic()
        self._complained = False

    def tick(self, connection: Connection) -> float:
        """Clean one chunk; answers how long to rest."""
        self._begin_anew()
        try:
            more = self._clean(connection)
        except OSError as error:
            self._complain(error)
            return _REST
        return self._cleaning.breath if more else _REST

    def _clean(self, connection: Connection) -> bool:
        removals = self._cleaning.removals
        for removal in list(removals):
            # Whoever had its turn is the last at the next tick.
            removals.append(removals.pop(0))
            cleaned = self._cleaning.clean(connection, removal)
            self._counts["cleaned"] += cleaned.rows
            if cleaned.rows:
                self._recover()
            if cleaned.rows or cleaned.more:
                return True
        return False

    def _begin_anew(self) -> None:
        now = self._clock.monotonic()
        if now - self._began >= _ANEW:
            self._began = now
            for removal in self._cleaning.removals:
                removal.due.restart()

    def _complain(self, error: OSError) -> None:
        # Once, not every minute; what was to be archived stays in the database.
        if not self._complained:
            log.error(
                "nothing can be archived, so nothing is deleted; will go on trying: %s", error
            )
        self._complained = True

    def _recover(self) -> None:
        if self._complained:
            log.warning("the archive can be written again")
        self._complained = False


def _among(kind: Kind, database: Database) -> ColumnElement[bool]:
    column = kind.table.c.id
    if isinstance(column.type, BigInteger):
        return database.among(column, "ids")
    return column.in_(bindparam("ids", expanding=True))


def _portions(ids: Sequence[Any]) -> Iterator[list[Any]]:
    return (list(ids[start : start + _PORTION]) for start in range(0, len(ids), _PORTION))
