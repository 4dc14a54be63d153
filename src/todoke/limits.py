"""How hard a destination may be pressed: calls at once, calls per time, a rest after failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from todoke.duration import Duration, duration
from todoke.errors import InvalidOption

_MOST_SLOTS = 10_000
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many calls at once, over all worker processes."""

    at_once: int

    def __post_init__(self) -> None:
        _check_whole("Limit(at_once)", self.at_once)
        if self.at_once > _MOST_SLOTS:
            raise InvalidOption(
                "Limit(at_once)",
                self.at_once,
                f"each is a row in the database. Write at most {_MOST_SLOTS:,}, or no limit.",
            )


@dataclass(frozen=True, slots=True, init=False)
class Rate:
    """So many calls per time, over all worker processes; after a quiet time all of them at once."""

    count: int
    within: timedelta

    def __init__(self, count: int, within: Duration) -> None:
        _check_whole("Rate(count)", count)
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "within", _some_time("Rate(within)", within))


@dataclass(frozen=True, slots=True, init=False)
class Breaker:
    """After so many failures in a row the destination rests; then one call tries it."""

    name: str | None
    failures: int
    rest: timedelta

    def __init__(
        self, name: str | None = None, *, failures: int = 5, rest: Duration = "30s"
    ) -> None:
        if name is not None:
            _check_name("Breaker(name)", name)
        _check_whole("Breaker(failures)", failures)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "failures", failures)
        object.__setattr__(self, "rest", _some_time("Breaker(rest)", rest))


@dataclass(frozen=True, slots=True)
class Bounds:
    """All that binds one destination; handlers that share it have to agree on it."""

    destination: str
    limit: Limit | None = None
    rate: Rate | None = None
    breaker: Breaker | None = None


def bounds(
    handler: str, limit: Limit | Rate | Sequence[Limit | Rate] | None, breaker: Breaker | None
) -> Bounds | None:
    """What `@on(limit=…, breaker=…)` of a handler means; None where nothing binds it."""
    wishes = _wishes(handler, limit)
    if breaker is not None and not isinstance(breaker, Breaker):
        raise InvalidOption(f"{handler}: breaker", breaker, 'write Breaker("name", failures=5).')
    if not wishes and breaker is None:
        return None
    name = breaker.name if breaker is not None and breaker.name is not None else handler
    _check_name(f"{handler}: destination", name)
    return Bounds(
        name,
        limit=next((wish for wish in wishes if isinstance(wish, Limit)), None),
        rate=next((wish for wish in wishes if isinstance(wish, Rate)), None),
        breaker=breaker,
    )


def _wishes(
    handler: str, limit: Limit | Rate | Sequence[Limit | Rate] | None
) -> list[Limit | Rate]:
    given: Sequence[object] = limit if isinstance(limit, list | tuple) else [limit]
    wishes = [wish for wish in given if isinstance(wish, Limit | Rate)]
    if limit is not None and len(wishes) < len(given):
        raise InvalidOption(
            f"{handler}: limit", limit, 'write Limit(4), Rate(100, "1m"), or a list of both.'
        )
    for kind in (Limit, Rate):
        if sum(isinstance(wish, kind) for wish in wishes) > 1:
            raise InvalidOption(
                f"{handler}: limit", limit, f"one {kind.__name__} is enough. Keep the stricter."
            )
    return wishes


def _check_whole(option: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidOption(option, value, "must be a whole number.")
    if value < 1:
        raise InvalidOption(option, value, "must be at least 1.")


def _check_name(option: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InvalidOption(option, name, 'must be a name, like "psp". Leave it out for none.')
    if len(name) > _LONGEST_NAME or "/" in name:
        raise InvalidOption(
            option,
            name,
            f'goes into the database: at most {_LONGEST_NAME} characters and no "/". '
            "Write Breaker(name) with a shorter name.",
        )


def _some_time(option: str, value: Duration) -> timedelta:
    length = duration(value, option)
    if not length:
        raise InvalidOption(option, value, 'must be longer than nothing. Write "30s" or "1m".')
    return length
