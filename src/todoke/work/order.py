"""Order in hand: of each strand only the first runs; the next begins when the first is settled.

What is to go back keeps its place until that is written: its row is ours until then, so a claim
would find those behind it, but not itself.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from todoke.work.call import Call
from todoke.work.item import Item
from todoke.work.settlement import Settlement

_CROWD = 50


@dataclass(slots=True, eq=False)
class Entry:
    """A claimed row, whose it is, and what it became: a call, or at once a settlement."""

    item: Item
    owner: UUID
    prepared: Call | Settlement
    goes_back: bool = False


class Runs:
    """Rows of strands that this process has in hand, of one source."""

    def __init__(self) -> None:
        self._runs: dict[int, deque[Entry]] = {}
        self._in_lane: Counter[tuple[str, int]] = Counter()

    def add(self, entry: Entry) -> bool:
        """Put it behind what is in hand of its strand; True when it is the first and may begin.

        What goes back and comes later in the order does not keep it waiting: the two would send
        each other back for ever.
        """
        item = entry.item
        run = self._runs.setdefault(item.strand, deque())
        place = len(run)
        while place and run[place - 1].goes_back and run[place - 1].item.id >= item.id:
            place -= 1
        run.insert(place, entry)
        self._in_lane[item.stream, item.lane] += 1
        return place == 0

    def settled(self, item: Item) -> Entry | None:
        """It is settled; answers the next of its strand, if that may begin now."""
        run: Sequence[Entry] = self._runs.get(item.strand, ())
        was_first = bool(run) and run[0].item is item
        self.leave(item)
        return run[0] if was_first and run and not run[0].goes_back else None

    def send_back(self, item: Item) -> list[Entry]:
        """It did not get through: what waits behind it, which is to go back from now on."""
        past, sent = False, []
        for entry in self._runs.get(item.strand, ()):
            if past and not entry.goes_back:
                entry.goes_back = True
                sent.append(entry)
            past = past or entry.item is item
        return sent

    def leave(self, item: Item) -> None:
        """It is written what became of it: its place, wherever in its strand, is free."""
        run = self._runs.get(item.strand)
        entry = next((one for one in run or () if one.item is item), None)
        if not run or not entry:
            return
        run.remove(entry)
        if not run:
            del self._runs[item.strand]
        place = item.stream, item.lane
        self._in_lane[place] -= 1
        if not self._in_lane[place]:
            del self._in_lane[place]

    def claims(self) -> list[tuple[int, int]]:
        return [entry.item.claim for run in self._runs.values() for entry in run]

    def prepared(self) -> Iterator[Call | Settlement]:
        """What became of all that is in hand."""
        return (entry.prepared for run in self._runs.values() for entry in run)

    def is_busy(self, stream: str, lane: int) -> bool:
        return self._in_lane[stream, lane] > 0

    def crowded(self, stream: str) -> set[int]:
        """Lanes with enough in hand: one hot key must not fill all hands."""
        return {
            lane for (of, lane), rows in self._in_lane.items() if of == stream and rows >= _CROWD
        }
