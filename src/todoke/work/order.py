"""Order in hand: of each strand only the first runs; the next begins when the first is settled."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from todoke.work.call import Call
from todoke.work.item import Item
from todoke.work.settlement import Settlement

_CROWD = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """A claimed row, whose it is, and what it became: a call, or at once a settlement."""

    item: Item
    owner: UUID
    prepared: Call | Settlement


class Runs:
    """Rows of strands that this process has in hand, of one source."""

    def __init__(self) -> None:
        self._runs: dict[int, deque[Entry]] = {}
        self._in_lane: Counter[tuple[str, int]] = Counter()

    def add(self, entry: Entry) -> bool:
        """Put it behind what is in hand of its strand; True when it is the first and may begin."""
        item = entry.item
        run = self._runs.setdefault(item.strand, deque())
        run.append(entry)
        self._in_lane[item.stream, item.lane] += 1
        return len(run) == 1

    def settled(self, item: Item) -> Entry | None:
        """The first of its strand is settled; answers the next, which may begin."""
        run = self._runs.get(item.strand)
        if not run or run[0].item is not item:
            return None
        self._leave([run.popleft()])
        if not run:
            del self._runs[item.strand]
            return None
        return run[0]

    def behind(self, item: Item) -> list[Entry]:
        """The first of its strand did not get through: take out all that waits behind it."""
        run = self._runs.get(item.strand)
        if not run or run[0].item is not item:
            return []
        rest = list(run)[1:]
        self._leave(rest)
        self._runs[item.strand] = deque([run[0]])
        return rest

    def ids(self) -> list[int]:
        return [entry.item.id for run in self._runs.values() for entry in run]

    def is_busy(self, stream: str, lane: int) -> bool:
        return self._in_lane[stream, lane] > 0

    def crowded(self, stream: str) -> set[int]:
        """Lanes with enough in hand: one hot key must not fill all hands."""
        return {
            lane for (of, lane), rows in self._in_lane.items() if of == stream and rows >= _CROWD
        }

    def _leave(self, gone: Sequence[Entry]) -> None:
        for one in gone:
            place = one.item.stream, one.item.lane
            self._in_lane[place] -= 1
            if not self._in_lane[place]:
                del self._in_lane[place]
