"""What rests by people's word, as one worker process knows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from todoke.clock import Clock
from todoke.database import reading
from todoke.jobs.handler import JobHandler
from todoke.jobs.pauses import Paused, Pauses
from todoke.work.strand import destination_of

_LOOK_FOR_FORGOTTEN = 10.0


class Resting:
    """Read each second; the worker asks it before it claims."""

    def __init__(
        self,
        pauses: Pauses,
        handlers: Callable[[], Mapping[str, JobHandler]],
        clock: Clock,
        source: str,
    ) -> None:
        self._pauses, self._handlers = pauses, handlers
        self._clock, self._source = clock, source
        self._paused, self._next_search = Paused(), 0.0

    def refresh(self, connection: Connection) -> None:
        if not self._handlers():
            return
        with reading(connection):
            self._paused = self._pauses.read(connection)
        now = self._clock.monotonic()
        if now >= self._next_search:
            self._next_search = now + _LOOK_FOR_FORGOTTEN
            with connection.begin():
                self._pauses.ready_forgotten(connection, self._pauses.read(connection))

    def stream(self, source: str, stream: str) -> bool:
        """Nothing is to be claimed from it: its queue rests, or the one job that it is for."""
        if not self._paused or source != self._source:
            return False
        return self._paused.queue(stream) is not None or self._is_of_resting_job(stream)

    def job(self, name: str) -> bool:
        """It shares its stream with others, so that it is held back one by one."""
        if not self._paused or self._paused.job(name) is None:
            return False
        handler = self._handlers().get(name)
        return handler is None or handler.bounds is None

    def _is_of_resting_job(self, stream: str) -> bool:
        destination = destination_of(stream)
        return bool(destination) and any(
            one.bounds is not None
            and one.bounds.destination == destination
            and self._paused.job(one.name) is not None
            for one in self._handlers().values()
        )
