"""What a look at one thing found: whether it is well, its real value, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["ok", "warn", "bad", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check of `todoke doctor` found; whatever is not ok has a remedy."""

    check: str
    verdict: Verdict
    found: str
    remedy: str | None = None


def ok(check: str, found: str) -> Finding:
    return Finding(check, "ok", found)


def warn(check: str, found: str, remedy: str) -> Finding:
    return Finding(check, "warn", found, remedy)


def bad(check: str, found: str, remedy: str) -> Finding:
    return Finding(check, "bad", found, remedy)


def unknown(check: str, found: str, remedy: str) -> Finding:
    return Finding(check, "unknown", found, remedy)


def by_size(check: str, size: float, limit: float, found: str, remedy: str) -> Finding:
    """Beyond its limit a warning, beyond ten times that bad."""
    if size < limit:
        return ok(check, found)
    return (bad if size >= 10 * limit else warn)(check, found, remedy)


def lasting(seconds: float) -> str:
    """A length of time as people say it: 3.0 ms, 5.0 s, 4 min, 2 h."""
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} h"
    if seconds >= 120:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"
