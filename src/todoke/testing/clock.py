"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from todoke.duration import Duration, duration
from todoke.errors import InvalidOption

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Leases, retries, delays and expiry follow it; a Harness has one, `Todoke(clock=…)` takes one.

    Moments are aware, or texts such as "2026-03-01 09:00", in UTC unless they name another zone.
    """

    def __init__(self, start: str | datetime = START) -> None:
        self._now, self._passed = _moment(start), timedelta(0)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._passed.total_seconds()

    def set(self, to: str | datetime) -> None:
        """Let it be this moment, earlier or later."""
        moment = _moment(to)
        self._passed += max(moment - self._now, timedelta(0))
        self._now = moment

    def advance(self, by: Duration) -> None:
        """Let so much time pass: "3m"."""
        self.set(self._now + duration(by, "advance"))


def _moment(given: str | datetime) -> datetime:
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise InvalidOption("clock", given, "has no time zone. Use datetime(…, tzinfo=UTC).")
        return given.astimezone(UTC)
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise InvalidOption("clock", given, 'write "2026-03-01 09:00", in UTC.') from None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
