"""From what `context.schedule` and `jobs.schedule.<name>` say to schedules that can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from todoke.errors import DuplicateName, InvalidOption
from todoke.jobs.handler import JobHandler
from todoke.jobs.job import ABSENT
from todoke.jobs.schedule import DEFAULTS, OFF, Schedule, ScheduleWish, schedule_of
from todoke.work.handler import place

if TYPE_CHECKING:
    from todoke.app import Todoke


def job_schedules(app: Todoke, jobs: Mapping[str, JobHandler]) -> dict[str, Schedule]:
    """All schedules of an application, by name; what configuration says wins over code."""
    wishes = _wishes(app)
    known = {name: _declared(app, jobs, wish) for name, wish in wishes.items()}
    for handler in jobs.values():
        if handler.name not in known and (made := _configured(app, handler)) is not None:
            known[handler.name] = made
    _refuse_unknown(app, {*wishes, *(handler.name for handler in jobs.values())}, jobs)
    return known


def _wishes(app: Todoke) -> dict[str, ScheduleWish]:
    wishes: dict[str, ScheduleWish] = {}
    for wish in (one for context in app.contexts for one in context.declared_schedules):
        if (other := wishes.get(wish.name)) is not None:
            first, second = (place(one.job.function) for one in (other, wish))
            raise DuplicateName("schedule", wish.name, first, second)
        wishes[wish.name] = wish
    return wishes


def _declared(app: Todoke, jobs: Mapping[str, JobHandler], wish: ScheduleWish) -> Schedule:
    handler = jobs.get(wish.job.name)
    if handler is None or handler.job is not wish.job:
        raise InvalidOption(
            f"schedule {wish.name!r}", wish.job.name, "its context is not in this application."
        )
    said = app.settings.schedule(str(wish.name))
    is_off = _is_off(said)
    options = _merged(wish.options, {} if is_off else said)
    return _schedule(app, wish.name, handler, wish.argument, options, said, is_off=is_off)


def _configured(app: Todoke, handler: JobHandler) -> Schedule | None:
    """One that only configuration knows, for the job of its name."""
    said = app.settings.schedule(handler.name)
    if not said or _is_off(said):
        return None
    return _schedule(app, handler.name, handler, ABSENT, _merged({}, said), said)


def _schedule(
    app: Todoke,
    name: Any,
    handler: JobHandler,
    argument: Any,
    options: Mapping[str, Any],
    said: Mapping[str, object],
    *,
    is_off: bool = False,
) -> Schedule:
    option = f"jobs.schedule.{name}" if said else f"schedule {name!r}"
    max_bytes = app.settings.number("payload.max_bytes")
    return schedule_of(name, handler, argument, options, option, max_bytes, is_off=is_off)


def _is_off(said: Mapping[str, object]) -> bool:
    return any(str(said.get(option)).lower() == OFF for option in ("cron", "every"))


def _merged(code: Mapping[str, object], said: Mapping[str, object]) -> dict[str, object]:
    """What is said of one kind of timetable takes the place of the other kind."""
    timetables = {"cron", "every"}
    kept = {
        name: value
        for name, value in code.items()
        if not (name in timetables and timetables & said.keys())
    }
    return {**DEFAULTS, **kept, **said}


def _refuse_unknown(app: Todoke, schedules: set[str], jobs: Mapping[str, JobHandler]) -> None:
    for name in app.settings.named_schedules:
        if name not in schedules:
            raise _unknown(f"jobs.schedule.{name}", "schedule or job", schedules)
    for name in app.settings.switched_jobs:
        if name not in jobs:
            raise _unknown(f"jobs.enabled.{name}", "job", set(jobs))


def _unknown(option: str, kind: str, known: set[str]) -> InvalidOption:
    return InvalidOption(
        option,
        "…",
        f"the application has no such {kind}. Correct the name, or remove it. Known: "
        f"{', '.join(sorted(known)) or 'none'}.",
    )
