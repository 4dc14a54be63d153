"""What a handler may answer. One `match` turns the answer into a settlement."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from todoke.duration import Duration, duration
from todoke.errors import InvalidOption


@dataclass(frozen=True, slots=True)
class Done:
    """It worked. `None` means the same."""

    result: object = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again, by the retry policy or after `after`; costs an attempt."""

    after: Duration | None = None
    reason: str = field(default="", kw_only=True)
    code: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.after is not None:
            duration(self.after, "Retry(after)")


@dataclass(frozen=True, slots=True)
class Snooze:
    """Not now; come back then. Not a failure, costs no attempt."""

    until: Duration | datetime
    reason: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.until, datetime):
            duration(self.until, "Snooze(until)")
        elif self.until.tzinfo is None:
            raise InvalidOption(
                "Snooze(until)", str(self.until), "a time without a zone. Use datetime.now(UTC)."
            )


@dataclass(frozen=True, slots=True)
class Reject:
    """Never: dead at once."""

    reason: str
    code: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Skip:
    """Nothing to do: settled as processed, with the reason."""

    reason: str


Outcome: TypeAlias = Done | Retry | Snooze | Reject | Skip
