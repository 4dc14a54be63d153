"""The names that an application declares: its event types, its handlers and its jobs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict

from todoke.errors import DuplicateName
from todoke.job_handlers import INJECTED
from todoke.jobs.job import Job
from todoke.message import Event
from todoke.names.shape import fields_of, shape_of
from todoke.work.handler import parameters_of, place
from todoke.work.strand import DEFAULT_QUEUE

if TYPE_CHECKING:
    from todoke.app import Todoke

NOTHING = "nothing"


class Recorded(BaseModel):
    """What goes into the file, and comes back from it only as it was meant."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, strict=True, extra="forbid")


class EventName(Recorded):
    """One event type, with what readers of its body lean on."""

    version: int
    key: str | None
    aggregate: str
    ordered: bool
    fields: dict[str, str]


class HandlerName(Recorded):
    """One handler, with where its deliveries lie and what it takes."""

    context: str
    queue: str
    events: list[str]


class JobName(Recorded):
    """One job, with the names it had before and what its argument looks like in a row."""

    context: str
    queue: str
    aliases: list[str]
    argument: str
    fields: dict[str, str]


class Names(Recorded):
    """Event types by `context/type`, handlers and jobs by name."""

    events: dict[str, EventName]
    handlers: dict[str, HandlerName]
    jobs: dict[str, JobName] = {}

    def job(self, name: str) -> JobName | None:
        """The job that takes rows of this name, or of one it had before."""
        renamed = (one for one in self.jobs.values() if name in one.aliases)
        return self.jobs.get(name) or next(renamed, None)


def names_of(app: Todoke) -> Names:
    """What handlers name, and the events of the packages that the contexts stand in."""
    events: dict[str, type[Event]] = {}
    for event in _events(app):
        known = events.setdefault(event.declared.kind, event)
        if event.declared.version > known.declared.version:
            events[event.declared.kind] = event
    return Names(
        events={kind: _event_name(event) for kind, event in events.items()},
        handlers=dict(_handler_names(app)),
        jobs=dict(_job_names(app)),
    )


def twins(app: Todoke) -> Iterator[DuplicateName]:
    """Event classes that cannot be told apart by name and version."""
    seen: dict[tuple[str, int], type[Event]] = {}
    for event in _events(app):
        name = (event.declared.kind, event.declared.version)
        other = seen.setdefault(name, event)
        if other is not event:
            yield DuplicateName("event", name[0], _place(other), _place(event))


def _events(app: Todoke) -> list[type[Event]]:
    wishes = [wish for context in app.contexts for wish in context.wishes]
    named = [one for wish in wishes for one in (*wish.events, *(wish.options["publishes"] or ()))]
    homes = {context.home for context in app.contexts}
    # A class that others derive from is what they share, and is not published itself.
    leaves = [one for one in _below(Event) if not one.__subclasses__()]
    around = [one for one in leaves if _lies_in(one, homes)]
    return list(dict.fromkeys([*named, *around]))


def _below(kind: type[Event]) -> Iterator[type[Event]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _lies_in(event: type[Event], homes: set[str]) -> bool:
    """In one of the packages, and still there: a module that was read anew leaves old classes."""
    if not any(f"{event.__module__}.".startswith(f"{home}.") for home in homes):
        return False
    try:
        found = attrgetter(event.__qualname__)(sys.modules[event.__module__])
    except (AttributeError, KeyError):
        return False
    return found is event


def _event_name(event: type[Event]) -> EventName:
    declared = event.declared
    return EventName(
        version=declared.version,
        key=declared.key_field,
        aggregate=declared.aggregate or declared.type,
        ordered=declared.ordered,
        fields=fields_of(event),
    )


def _handler_names(app: Todoke) -> Iterator[tuple[str, HandlerName]]:
    for context in app.contexts:
        for wish in context.wishes:
            kinds = sorted(event.declared.kind for event in wish.events)
            queue = wish.options["queue"] or DEFAULT_QUEUE
            yield wish.name, HandlerName(context=context.name, queue=queue, events=kinds)


def _job_names(app: Todoke) -> Iterator[tuple[str, JobName]]:
    for context in app.contexts:
        for job in context.declared_jobs:
            argument, fields = _argument(job)
            yield (
                job.name,
                JobName(
                    context=context.name,
                    queue=job.options["queue"] or DEFAULT_QUEUE,
                    aliases=sorted(job.options["aliases"]),
                    argument=argument,
                    fields=fields,
                ),
            )


def _argument(job: Job[Any, Any]) -> tuple[str, dict[str, str]]:
    """Raises what a start would refuse, where its type cannot be told."""
    first = parameters_of(job.function, f"job {job.name!r} ({place(job.function)})")[:1]
    kinds = [one.kind for one in first if one.kind not in INJECTED]
    return shape_of(kinds[0]) if kinds else (NOTHING, {})


def _place(event: type[Event]) -> str:
    return f"{event.__module__}.{event.__qualname__}"
