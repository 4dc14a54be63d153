"""One stream without order, claimed from as a worker does."""

from __future__ import annotations

from tests.work.key_desk import Desk, Process
from todoke.job_runtime import job_source
from todoke.runtime import Runtime
from todoke.work.draw import Draw
from todoke.work.lanes import Lanes
from todoke.work.stream import Tap


class Claimer:
    """Claims again and again, and what it gets is done at once."""

    def __init__(self, desk: Desk, process: Process) -> None:
        runtime, app = Runtime(desk.app), desk.app
        lanes = Lanes(app.lane_leases, {}, lambda _connection: {})
        self._draw = Draw(lanes, app.database, runtime.pace)
        self.tap = Tap(job_source(runtime, lanes, 60.0), desk.stream, ordered=False)
        self._process, self._keys = process, self.tap.source.keys

    def claim(self, room: int = 4) -> list[int]:
        """The priorities of those it got."""
        connection, owner = self._process.connection, self._process.id
        taken = self._draw.take(connection, owner, self.tap, room)
        self._process.end(taken)
        assert self._keys is not None
        self._keys.let_go(owner, taken)
        self._keys.free(connection)
        return [-item.priority for item in taken]
