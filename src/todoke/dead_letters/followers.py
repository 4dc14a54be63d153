"""What waits behind a dead letter: later events of its key, parked until a person decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, bindparam, func, select

from todoke.database import Database
from todoke.work.hold import Place
from todoke.work.item import HELD
from todoke.work.strand import place_of
from todoke.work.table import WorkTable, in_state

MOST_COUNTED = 1000
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Parked:
    """Followers that wait behind a dead letter; `more` where not all of them were counted."""

    count: int
    more: bool = False


class Followers:
    """Reads who waits behind dead letters; takes no locks."""

    def __init__(self, tables: Sequence[WorkTable], holds: Table, database: Database) -> None:
        self._holding = (
            select(holds.c.strand, holds.c.barrier)
            .where(holds.c.source == bindparam("of_source"))
            .where(database.among(holds.c.strand, "strands"))
        )
        self._crowded: dict[str, Any] = {}
        self._first: dict[str, Any] = {}
        for table in tables:
            live = table.live
            held = select(live.c.strand).where(in_state(live, HELD))
            crowded = held.where(database.among(live.c.strand, "strands")).distinct()
            self._crowded[table.source] = crowded
            first = held.where(live.c.strand == bindparam("of_strand")).limit(MOST_COUNTED + 1)
            self._first[table.source] = select(func.count()).select_from(first.subquery())

    def behind(self, connection: Connection, source: str, place: Place) -> Parked | None:
        """Who waits behind this one; None where its key is not held, so nobody has to wait."""
        if not self.hold_their_keys(connection, source, [place]):
            return None
        counted = connection.execute(self._first[source], {"of_strand": place.strand}).scalar_one()
        return Parked(min(counted, MOST_COUNTED), more=counted > MOST_COUNTED)

    def count_followed(self, connection: Connection, source: str, places: Sequence[Place]) -> int:
        """How many of these somebody waits behind."""
        return sum(self._followed(connection, source, some) for some in _portions(places))

    def _followed(self, connection: Connection, source: str, places: Sequence[Place]) -> int:
        strands = self.hold_their_keys(connection, source, places)
        if not strands:
            return 0
        crowded = connection.execute(self._crowded[source], {"strands": strands})
        return len(crowded.all())

    def hold_their_keys(
        self, connection: Connection, source: str, places: Sequence[Place]
    ) -> list[int]:
        """The strands of those that nothing of their key may pass."""
        wanted = {"of_source": source, "strands": [place.strand for place in places]}
        barriers = {row.strand: row.barrier for row in connection.execute(self._holding, wanted)}
        return [place.strand for place in places if barriers.get(place.strand) == place.id]


def letter_place(letter: Row[Any]) -> Place:
    """Where a dead letter stood in the order."""
    place = place_of(
        letter.stream, letter.aggregate, letter.key, letter.handler, ordered=letter.ordered
    )
    return Place(letter.item_id, place["strand"], letter.stream, place["lane"])


def _portions(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    return (places[start : start + _AT_ONCE] for start in range(0, len(places), _AT_ONCE))
