"""When to try again: a number of attempts and the waits between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from todoke.duration import Duration, duration
from todoke.errors import InvalidOption

_LONGEST = timedelta(days=365)


@dataclass(frozen=True, slots=True, init=False)
class Backoff:
    """n waits make n + 1 attempts, unless `attempts` says otherwise; the last wait repeats."""

    delays: tuple[timedelta, ...]
    attempts: int | None
    jitter: float

    def __init__(self, *delays: Duration, attempts: int | None = None, jitter: float = 0.1) -> None:
        waits = tuple(duration(delay, "Backoff") for delay in delays)
        count = attempts if attempts is not None else len(waits) + 1
        _check(waits, count, jitter)
        object.__setattr__(self, "delays", waits)
        object.__setattr__(self, "attempts", count)
        object.__setattr__(self, "jitter", jitter)

    @classmethod
    def exponential(
        cls,
        first: Duration = "1s",
        *,
        attempts: int | None = 4,
        factor: float = 2,
        cap: Duration = "1h",
        jitter: float = 0.1,
    ) -> Backoff:
        """Waits that grow by `factor` up to `cap`; `attempts=None` never gives up."""
        if factor < 1:
            raise InvalidOption("Backoff.exponential(factor)", factor, "must be at least 1.")
        policy = cls(*_growing(first, attempts, factor, cap), attempts=attempts, jitter=jitter)
        if attempts is None:
            object.__setattr__(policy, "attempts", None)
        return policy

    @property
    def longest(self) -> timedelta:
        return max(self.delays, default=timedelta(seconds=1))

    @property
    def horizon(self) -> float:
        """Seconds of all waits together; of a policy that never gives up, until they stop growing.

        As a number: a billion attempts are longer than a timedelta can be.
        """
        count = len(self.delays) if self.attempts is None else self.attempts - 1
        waits = [delay.total_seconds() for delay in self.delays[:count]]
        again = (count - len(waits)) * waits[-1] if waits else 0.0
        return (sum(waits) + again) * (1 + self.jitter)

    def exhausted(self, attempt: int) -> bool:
        return self.attempts is not None and attempt >= self.attempts

    def wait(self, attempt: int, random: Callable[[], float]) -> timedelta:
        """How long to wait after this attempt, spread by ± jitter so that herds dissolve."""
        if not self.delays:
            return timedelta(0)
        delay = self.delays[min(max(attempt, 1), len(self.delays)) - 1]
        return delay * (1 + self.jitter * (2 * random() - 1))


def _growing(
    first: Duration, attempts: int | None, factor: float, cap: Duration
) -> list[timedelta]:
    start, longest = duration(first, "Backoff.exponential(first)"), duration(cap, "cap")
    waits = [min(start, longest)]
    steps = 64 if attempts is None else attempts - 2
    for _ in range(steps):
        if waits[-1] >= longest:
            break
        waits.append(min(waits[-1] * factor, longest))
    return waits if attempts is None or attempts > 1 else []


def _check(waits: tuple[timedelta, ...], attempts: int, jitter: float) -> None:
    if attempts < 1:
        raise InvalidOption("Backoff(attempts)", attempts, "must be at least 1.")
    if not 0 <= jitter <= 1:
        raise InvalidOption("Backoff(jitter)", jitter, "must be between 0 and 1.")
    if any(wait > _LONGEST for wait in waits):
        raise InvalidOption("Backoff", max(waits), "longer than a year cannot be meant.")


PRESETS: Mapping[str, Backoff] = {
    "default": Backoff("1s", "2s", "4s"),
    "mail": Backoff("30s", "60s"),
    "broker-order": Backoff("5s", "10s", "20s", "40s", "80s"),
    "job": Backoff.exponential("1s", attempts=4),
}


def policy(
    wish: Backoff | str | None,
    presets: Mapping[str, Backoff] = PRESETS,
    option: str = "retry",
) -> Backoff:
    """The policy a handler asked for: its own, a preset by name, or the default."""
    if isinstance(wish, Backoff):
        return wish
    name = wish or "default"
    if name not in presets:
        known = ", ".join(sorted(presets))
        raise InvalidOption(option, name, f"no such policy. Known: {known}.")
    return presets[name]
