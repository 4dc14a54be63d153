"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime

from todoke.duration import Duration, duration

_START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Give it to `Todoke(clock=…)`: leases, retries and due times then follow it."""

    def __init__(self, start: datetime = _START) -> None:
        self._start = self._now = start

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return (self._now - self._start).total_seconds()

    def set(self, to: datetime) -> None:
        if to.tzinfo is None:
            raise ValueError(f"{to!r} has no time zone. Use datetime(…, tzinfo=UTC).")
        self._now = to.astimezone(UTC)

    def advance(self, by: Duration) -> None:
        self._now += duration(by, "advance")
