"""Lengths of time as people write them: "30s", "5m", "24h", or a timedelta; never a bare number."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TypeAlias

from todoke.errors import InvalidOption

Duration: TypeAlias = str | timedelta

_UNITS = {
    "ms": "milliseconds",
    "s": "seconds",
    "m": "minutes",
    "h": "hours",
    "d": "days",
    "w": "weeks",
}
_SHAPE = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)", re.ASCII)


def duration(value: object, option: str = "duration") -> timedelta:
    """Read a duration; the option's name goes into the refusal."""
    if isinstance(value, timedelta):
        return _not_negative(value, option)
    if isinstance(value, int | float):
        raise InvalidOption(option, value, f'a number has no unit. Write "{value}s" or "5m".')
    match = _SHAPE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise InvalidOption(
            option, value, 'not a length of time. Write "250ms", "30s", "5m", "24h", "7d".'
        )
    try:
        return timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        raise InvalidOption(option, value, "longer than time itself. Write less.") from None


def seconds(value: object, option: str = "duration") -> float:
    return duration(value, option).total_seconds()


def _not_negative(value: timedelta, option: str) -> timedelta:
    if value < timedelta(0):
        raise InvalidOption(option, value, "a length of time cannot be negative.")
    return value
