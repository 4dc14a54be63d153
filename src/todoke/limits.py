"""How hard a destination may be pressed: calls at once, calls per time, a rest after failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from todoke.duration import Duration, duration
from todoke.errors import InvalidOption

_MOST_SLOTS, _MOST_OF_A_KEY = 10_000, 1_000
_LONGEST_NAME = 100

Per: TypeAlias = str | Callable[[Any], str]
"""What a job's argument is counted by: one of its fields, or what a function says of it."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many calls at once, over all worker processes; with `per`, so many of each key."""

    at_once: int
    per: Per | None = None

    def __post_init__(self) -> None:
        _check_whole("Limit(at_once)", self.at_once)
        _check_per(self.per)
        most = _MOST_SLOTS if self.per is None else _MOST_OF_A_KEY
        if self.at_once > most:
            raise InvalidOption(
                "Limit(at_once)",
                self.at_once,
                f"each is a row in the database. Write at most {most:,}, or no limit.",
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
    per_key: Limit | None = None


def bounds(
    handler: str,
    limit: Limit | Rate | Sequence[Limit | Rate] | None,
    breaker: Breaker | None,
    *,
    has_keys: bool = False,
) -> Bounds | None:
    """What `limit=…, breaker=…` of a handler means; None where nothing binds it.

    A job has keys to count by; a handler's events are kept in order by theirs.
    """
    wishes = _wishes(handler, limit)
    if not has_keys and any(isinstance(one, Limit) and one.per is not None for one in wishes):
        raise InvalidOption(
            f"{handler}: limit",
            limit,
            "per= is for jobs. Events of one key are handled one by one: declare the field as a "
            "Key, and leave per= out.",
        )
    if breaker is not None and not isinstance(breaker, Breaker):
        raise InvalidOption(f"{handler}: breaker", breaker, 'write Breaker("name", failures=5).')
    if not wishes and breaker is None:
        return None
    name = breaker.name if breaker is not None and breaker.name is not None else handler
    _check_name(f"{handler}: destination", name)
    limits = [wish for wish in wishes if isinstance(wish, Limit)]
    return Bounds(
        name,
        limit=next((one for one in limits if one.per is None), None),
        rate=next((wish for wish in wishes if isinstance(wish, Rate)), None),
        breaker=breaker,
        per_key=next((one for one in limits if one.per is not None), None),
    )


def queue_bounds(queue: str, said: Mapping[str, object]) -> Bounds | None:
    """What `queues.<name>.limit` and `.rate` mean; None where neither is said."""
    limit, rate = said.get("limit"), said.get("rate")
    if limit is None and rate is None:
        return None
    return Bounds(
        f"queue:{queue}",
        limit=None if limit is None else Limit(_whole(f"queues.{queue}.limit", limit)),
        rate=None if rate is None else _rate(f"queues.{queue}.rate", rate),
    )


def _whole(option: str, said: object) -> int:
    """A number, or its text from the environment."""
    number = int(said) if isinstance(said, str) and said.strip().isdecimal() else said
    _check_whole(option, number)
    assert isinstance(number, int)  # noqa: S101
    return number


def _rate(option: str, said: object) -> Rate:
    count, _, within = str(said).partition("/")
    if not count.strip().isdecimal() or not within:
        raise InvalidOption(option, said, 'write how many per how long: "100/1m".')
    _check_whole(option, int(count))
    return Rate(int(count), _some_time(option, within.strip()))


def _wishes(
    handler: str, limit: Limit | Rate | Sequence[Limit | Rate] | None
) -> list[Limit | Rate]:
    given: Sequence[object] = limit if isinstance(limit, list | tuple) else [limit]
    wishes = [wish for wish in given if isinstance(wish, Limit | Rate)]
    if limit is not None and len(wishes) < len(given):
        raise InvalidOption(
            f"{handler}: limit", limit, 'write Limit(4), Rate(100, "1m"), or a list of both.'
        )
    for kind, count in Counter(map(_kind, wishes)).items():
        if count > 1:
            raise InvalidOption(
                f"{handler}: limit", limit, f"one {kind} is enough. Keep the stricter."
            )
    return wishes


def _kind(wish: Limit | Rate) -> str:
    """Of each kind there is at most one."""
    return type(wish).__name__ if getattr(wish, "per", None) is None else "Limit with per="


def _check_per(per: object) -> None:
    named = isinstance(per, str) and per.isidentifier()
    if per is not None and not named and not callable(per):
        raise InvalidOption(
            "Limit(per)",
            per,
            'must be a field of the argument, like "tenant", or a function that tells its key.',
        )


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
