"""A recurring job: which one, when, and what becomes of ticks that nobody was there for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal, Required, TypeAlias, TypedDict

from todoke.duration import Duration, duration
from todoke.errors import InvalidOption
from todoke.jobs.handler import JobHandler
from todoke.jobs.job import ABSENT, Job
from todoke.jobs.run import Tick
from todoke.jobs.timetable import Timetable, timetable

Missed: TypeAlias = Literal["skip", "latest", "all"]
Overlap: TypeAlias = Literal["skip", "queue", "allow"]
MISSED_POLICIES = ("skip", "latest", "all")
OVERLAP_POLICIES = ("skip", "queue", "allow")
DEFAULTS: Mapping[str, object] = {
    "cron": None,
    "every": None,
    "tz": "UTC",
    "missed": "latest",
    "cap": 100,
    "overlap": "skip",
    "jitter": None,
}
OFF = "off"
MOST_CAP, LONGEST_NAME = 10_000, 150
_PARTS = 1 << 32


class Policies(TypedDict, total=False):
    """What `schedule` takes beside a timetable.

    `missed` says which ticks are caught up that came while no worker ran, up to `cap`; `overlap`
    what becomes of one that comes while the run before is going on; `jitter` spreads the starts.
    """

    tz: str
    missed: Missed
    cap: int
    overlap: Overlap
    jitter: Duration | None
    name: str | None


class ByCron(Policies):
    cron: Required[str]


class ByInterval(Policies):
    every: Required[Duration]


@dataclass(frozen=True, slots=True)
class ScheduleWish:
    """What `context.schedule` was given, until the application is built."""

    job: Job[Any, Any]
    argument: Any
    options: Mapping[str, object]

    @property
    def name(self) -> Any:
        return self.options.get("name") or self.job.name


def wish_of(job: Any, argument: Any, options: Mapping[str, object], call: str) -> ScheduleWish:
    if not isinstance(job, Job):
        told = getattr(job, "__name__", job)
        raise InvalidOption(call, told, "pass a job: a function below `@context.job()`.")
    if unknown := sorted(options.keys() - {*DEFAULTS, "name"}):
        raise InvalidOption(call, unknown[0], f"it takes {', '.join(DEFAULTS)} and name.")
    return ScheduleWish(job, argument, options)


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A recurring job as the scheduler needs it."""

    name: str
    handler: JobHandler
    argument: Any
    timetable: Timetable
    missed: Missed
    cap: int
    overlap: Overlap
    jitter: timedelta
    is_off: bool = False

    @property
    def job(self) -> Job[Any, Any]:
        return self.handler.job

    @property
    def policy(self) -> str:
        """For people."""
        said = [f"missed={self.missed}", f"cap={self.cap}", f"overlap={self.overlap}"]
        if self.jitter:
            said.append(f"jitter={self.jitter.total_seconds():g}s")
        return " ".join([*said, *([OFF] if self.is_off else [])])

    @property
    def silenced(self) -> str | None:
        """Why nothing of it is enqueued, as far as configuration says."""
        if self.is_off:
            return f"jobs.schedule.{self.name} is off"
        return None if self.handler.enabled else f"jobs.enabled.{self.handler.name} is off"

    def argument_for(self, tick: Tick) -> Any:
        return self.argument(tick) if callable(self.argument) else self.argument

    def start_of(self, due: datetime, application: str) -> datetime:
        """When its job may begin: everybody draws the same share of the jitter."""
        if not self.jitter:
            return due
        drawn = sha256(f"{application}/{self.name}/{due.timestamp():.6f}".encode()).digest()
        return due + self.jitter * (int.from_bytes(drawn[:4], "big") / _PARTS)


def schedule_of(
    name: Any,
    handler: JobHandler,
    argument: Any,
    options: Mapping[str, Any],
    option: str,
    max_bytes: int,
    *,
    is_off: bool = False,
) -> Schedule:
    """The schedule, if it can be meant; the option's name goes into the refusal."""
    _check_name(name, option)
    _check_argument(handler, argument, option, max_bytes)
    return Schedule(
        name,
        handler,
        argument,
        timetable(cron=options["cron"], every=options["every"], tz=options["tz"], option=option),
        _one_of(options["missed"], MISSED_POLICIES, f"{option}: missed"),
        _cap(options["cap"], f"{option}: cap"),
        _one_of(options["overlap"], OVERLAP_POLICIES, f"{option}: overlap"),
        duration(options["jitter"] or timedelta(0), f"{option}: jitter"),
        is_off,
    )


def _check_name(name: Any, option: str) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or "/" in name:
        raise InvalidOption(
            option, name, f'a name has at most {LONGEST_NAME} characters and no "/".'
        )


def _check_argument(handler: JobHandler, argument: Any, option: str, max_bytes: int) -> None:
    takes, given = handler.argument is not None, argument is not ABSENT
    if takes and not given:
        raise InvalidOption(
            option,
            handler.name,
            "the job takes an argument, which only code can give: "
            "context.schedule(job, argument, …), or a callable that makes one of the tick.",
        )
    if given and not takes:
        raise InvalidOption(option, handler.name, "the job takes no argument: leave it away.")
    if given and not callable(argument):
        handler.body(argument, max_bytes)


def _one_of(value: Any, known: tuple[str, ...], option: str) -> Any:
    if value not in known:
        raise InvalidOption(option, value, f"one of {', '.join(known)}.")
    return value


def _cap(value: Any, option: str) -> int:
    whole = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(whole, int) or isinstance(whole, bool) or not 1 <= whole <= MOST_CAP:
        raise InvalidOption(option, value, f"a whole number, 1 to {MOST_CAP:,}.")
    return whole
