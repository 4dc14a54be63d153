"""Which rows are due to go: found without locks, a bounded look at a time.

History is walked by its primary key, since ids are drawn in the order of time: whatever comes
after the first row that is too young by its creation is too young as well. Rows that were settled
late stand in between; they are passed, and looked at again when the walk begins anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy import Connection, Row, Table, and_, bindparam, func, or_, select
from sqlalchemy.sql import ColumnElement

from todoke.database import Database
from todoke.dead_letters.followers import Followers, letter_place
from todoke.ledger.accept import over
from todoke.retention.line import Kind
from todoke.work.strand import UNORDERED

_AT_ONCE = 1000
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Found:
    """Rows that are due; `more` where the look ended before there were none left."""

    ids: Sequence[Any]
    more: bool


class Due(Protocol):
    """One way to be due."""

    kind: Kind
    still: ColumnElement[bool]
    """Asked again under the lock."""
    values: dict[str, float]
    """What `still` is asked with."""
    walks: bool
    """The next look begins where this one ended."""
    archives: bool
    """Its rows go into the archive, if there is one."""

    def find(self, connection: Connection, most: int) -> Found: ...

    def count(self, connection: Connection) -> int:
        """How many there are, looking at all of them."""
        ...

    def restart(self) -> None:
        """Look again at what was passed."""
        ...


class _Walk(ABC):
    """Looks at rows one after the other, and passes those that stay."""

    walks = True
    archives = True

    def __init__(self) -> None:
        self.restart()

    @abstractmethod
    def restart(self) -> None: ...

    @abstractmethod
    def find(self, connection: Connection, most: int) -> Found: ...

    def count(self, connection: Connection) -> int:
        self.restart()
        total, more = 0, True
        while more:
            found = self.find(connection, _AT_ONCE)
            total, more = total + len(found.ids), found.more
        self.restart()
        return total


class Settled(_Walk):
    """History rows older than a period, unless they have a date of their own."""

    def __init__(self, kind: Kind, database: Database, seconds: float) -> None:
        self.kind: Kind = kind
        self.values: dict[str, float] = {"cutoff": -seconds}
        history = kind.table
        cutoff = database.once(database.after("cutoff"))
        self.still: ColumnElement[bool] = and_(
            history.c.expires_at.is_(None), history.c.settled_at <= cutoff
        )
        self._look = (
            select(
                history.c.id,
                self.still.label("due"),
                (history.c.created_at <= cutoff).label("old"),
            )
            .where(history.c.id > bindparam("beyond"))
            .order_by(history.c.id)
            .limit(bindparam("most"))
        )
        super().__init__()

    def restart(self) -> None:
        self._beyond = -1

    def find(self, connection: Connection, most: int) -> Found:
        # Mostly nothing is due, which one row tells.
        if not self._rows(connection, 1):
            return Found([], more=False)
        rows = self._rows(connection, most)
        self._beyond = rows[-1].id if rows else self._beyond
        return Found([row.id for row in rows if row.due], more=len(rows) == most)

    def _rows(self, connection: Connection, most: int) -> list[Row[Any]]:
        """The next ones, as far as they are old enough to be looked at."""
        values = {**self.values, "beyond": self._beyond, "most": most}
        return list(takewhile(lambda row: bool(row.old), connection.execute(self._look, values)))


class _Indexed:
    """Rows that an index tells by themselves: none is passed, so nothing is remembered."""

    walks = False
    archives = True

    def __init__(
        self,
        kind: Kind,
        still: ColumnElement[bool],
        values: dict[str, float],
        by: ColumnElement[Any],
    ) -> None:
        self.kind: Kind = kind
        self.still: ColumnElement[bool] = still
        self.values: dict[str, float] = values
        self._by = by

    def restart(self) -> None:
        pass

    def find(self, connection: Connection, most: int) -> Found:
        rows = select(self.kind.table.c.id).where(self.still).order_by(self._by).limit(most)
        ids = connection.execute(rows, self.values).scalars().all()
        return Found(ids, more=len(ids) == most)

    def count(self, connection: Connection) -> int:
        rows = select(func.count()).select_from(self.kind.table).where(self.still)
        return int(connection.execute(rows, self.values).scalar_one())


class Expired(_Indexed):
    """History rows past their own date."""

    def __init__(self, kind: Kind, database: Database) -> None:
        expires_at = kind.table.c.expires_at
        super().__init__(kind, expires_at <= database.once(database.now), {}, expires_at)


class Over(_Indexed):
    """Entries of the ledger whose time is up; they answer repeats, and are not archived."""

    archives = False

    def __init__(self, kind: Kind, letters: Table, database: Database) -> None:
        super().__init__(kind, over(kind.table, letters, database), {}, kind.table.c.expires_at)


class Closed(_Indexed):
    """Dead letters that were redriven or resolved longer ago than a period."""

    def __init__(self, kind: Kind, database: Database, seconds: float) -> None:
        closed_at = kind.table.c.closed_at
        still = and_(
            closed_at <= database.once(database.after("cutoff")), _no_later_date(kind, database)
        )
        super().__init__(kind, still, {"cutoff": -seconds}, closed_at)


class Open(_Walk):
    """Dead letters that nobody closed for so long, and nobody waits behind."""

    def __init__(
        self, kind: Kind, database: Database, seconds: float, followers: Followers
    ) -> None:
        self.kind: Kind = kind
        self.values: dict[str, float] = {"cutoff": -seconds}
        self._followers = followers
        letters = kind.table
        self.still: ColumnElement[bool] = and_(
            letters.c.closed_at.is_(None),
            letters.c.died_at <= database.once(database.after("cutoff")),
            _no_later_date(kind, database),
        )
        since = bindparam("since", type_=letters.c.died_at.type)
        beyond = bindparam("beyond", type_=letters.c.id.type)
        place = ("stream", "aggregate", "key", "handler", "ordered")
        told = ("id", "died_at", "source", "item_id", *place)
        self._look = (
            select(*(letters.c[name] for name in told))
            .where(self.still, letters.c.died_at >= since)
            .where(or_(letters.c.died_at > since, letters.c.id > beyond))
            .order_by(letters.c.died_at, letters.c.id)
            .limit(bindparam("most"))
        )
        super().__init__()

    def restart(self) -> None:
        self._since, self._beyond = _FIRST, UUID(int=0)

    def find(self, connection: Connection, most: int) -> Found:
        where = {"since": self._since, "beyond": self._beyond, "most": most}
        rows = connection.execute(self._look, {**self.values, **where}).all()
        if rows:
            self._since, self._beyond = rows[-1].died_at, rows[-1].id
        held = self._held(connection, rows)
        return Found([row.id for row in rows if row.id not in held], more=len(rows) == most)

    def _held(self, connection: Connection, rows: Sequence[Row[Any]]) -> set[UUID]:
        """Those whose key waits for them: a person must let it go on."""
        held: set[UUID] = set()
        for source in {row.source for row in rows}:
            places = {row.id: letter_place(row) for row in rows if row.source == source}
            ordered = [place for place in places.values() if place.lane != UNORDERED]
            if not ordered:
                continue
            strands = set(self._followers.hold_their_keys(connection, source, ordered))
            held |= {id for id, place in places.items() if place.strand in strands}
        return held


def _no_later_date(kind: Kind, database: Database) -> ColumnElement[bool]:
    own = kind.table.c.expires_at
    return or_(own.is_(None), own <= database.once(database.now))
