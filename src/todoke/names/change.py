"""How declared names differ from the recorded ones, and whether something would break by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from shlex import quote

from todoke.names.declared import EventName, HandlerName, JobName, Names
from todoke.names.shape import OPTIONAL, around


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one name; `breaks` where rows or other programs would notice."""

    kind: str
    name: str
    what: str
    remedy: str
    breaks: bool


def changes(recorded: Names, declared: Names) -> Iterator[Change]:
    """Events first, each kind by name."""
    for name in sorted(recorded.events.keys() | declared.events.keys()):
        was, now = recorded.events.get(name), declared.events.get(name)
        if was != now:
            yield _event(name, was, now)
    for name in sorted(recorded.handlers.keys() | declared.handlers.keys()):
        old, new = recorded.handlers.get(name), declared.handlers.get(name)
        if old != new:
            yield _handler(name, old, new)
    for name in sorted(recorded.jobs.keys() | declared.jobs.keys()):
        if recorded.jobs.get(name) != declared.jobs.get(name):
            yield _job(name, recorded.jobs.get(name), declared)


def accepted(recorded: Names, declared: Names, forget: set[str]) -> Names:
    """What may be recorded: all that breaks nothing, and what is to be forgotten."""
    kept = {
        (one.kind, one.name)
        for one in changes(recorded, declared)
        if one.breaks and one.name not in forget
    }
    events = {**declared.events} | {
        name: was for name, was in recorded.events.items() if ("event", name) in kept
    }
    handlers = {**declared.handlers} | {
        name: was for name, was in recorded.handlers.items() if ("handler", name) in kept
    }
    jobs = {**declared.jobs} | {
        name: was for name, was in recorded.jobs.items() if ("job", name) in kept
    }
    return Names(events=events, handlers=handlers, jobs=jobs)


def _event(name: str, was: EventName | None, now: EventName | None) -> Change:
    if was is None:
        return _unrecorded("event", name, "is not recorded yet")
    if now is None:
        context, _, kind = name.partition("/")
        said = f'type="{kind}"' if context == "*" else f'context="{context}", type="{kind}"'
        return _broken(
            "event",
            name,
            "is not declared any more, but rows and other programs may still have it",
            f"Give its class the name back ({said})",
        )
    if now.version < was.version:
        return _broken(
            "event",
            name,
            f"has version {now.version}, recorded is {was.version}",
            f"Declare version={was.version}, or a higher one",
        )
    harm = [] if now.version > was.version else list(_harm(was, now))
    if harm:
        return _broken(
            "event",
            name,
            f"v{now.version} {'; '.join(harm)}",
            f"Undo it, or declare version={now.version + 1}",
        )
    return _unrecorded("event", name, "has changed, and nothing breaks by it")


def _harm(was: EventName, now: EventName) -> Iterator[str]:
    yield from _harm_to_fields(was.fields, now.fields)
    if was.key != now.key:
        yield f"is ordered by {_shown(now.key)}, was by {_shown(was.key)}"
    if was.aggregate != now.aggregate:
        yield f"belongs to {_shown(now.aggregate)}, did to {_shown(was.aggregate)}"
    if was.ordered != now.ordered:
        yield "keeps an order, and did not" if now.ordered else "keeps no order, and did"


def _harm_to_fields(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name, kind in was.items():
        new = now.get(name)
        if new is None:
            if not around(name) or around(name) in now:
                yield f"dropped `{name}`"
        elif new.removesuffix(OPTIONAL) != kind.removesuffix(OPTIONAL):
            yield f"changed `{name}` from {kind} to {new}"
        elif kind.endswith(OPTIONAL) and not new.endswith(OPTIONAL):
            yield f"requires `{name}`, which was optional"
    for name in sorted(now.keys() - was.keys()):
        lies_in_new = around(name) and around(name) not in was
        if not now[name].endswith(OPTIONAL) and not lies_in_new:
            yield f"requires `{name}`, which was not there"


def _handler(name: str, was: HandlerName | None, now: HandlerName | None) -> Change:
    if was is None:
        return _unrecorded("handler", name, "is not recorded yet")
    if now is None:
        return _broken(
            "handler",
            name,
            "is not declared any more, but deliveries may wait for it",
            f'Give its function the name back (name="{name}")',
        )
    if lost := sorted(set(was.events) - set(now.events)):
        return _broken(
            "handler",
            name,
            f"does not take {', '.join(lost)} any more, but deliveries may wait",
            "Let it take them until none is left",
        )
    return _unrecorded("handler", name, "has changed, and nothing breaks by it")


def _job(name: str, was: JobName | None, declared: Names) -> Change:
    if was is None:
        return _unrecorded("job", name, "is not recorded yet")
    takers = {one: declared.job(one) for one in (name, *was.aliases)}
    if lost := [one for one, job in takers.items() if job is None]:
        return _broken("job", name, *_lost(name, lost))
    harm = [one for job in takers.values() if job for one in _harm_to_argument(was, job)]
    if harm:
        return _broken(
            "job",
            name,
            f"{'; '.join(dict.fromkeys(harm))}, but rows with the old argument may wait",
            "Undo it, or keep the job as it is until none waits and give the new one another name",
        )
    return _unrecorded("job", name, "has changed, and nothing breaks by it")


def _lost(name: str, lost: list[str]) -> tuple[str, str]:
    told = ", ".join(f'"{one}"' for one in lost)
    kept = f"Let the job that takes its rows keep it (aliases=[{told}])"
    if name in lost:
        return "is not declared any more, but rows may wait under this name", kept
    return f"has lost {told}, but rows may wait under it", kept


def _harm_to_argument(was: JobName, now: JobName) -> Iterator[str]:
    if was.argument != now.argument:
        yield f"takes {now.argument}, and took {was.argument}"
    else:
        yield from _harm_to_fields(was.fields, now.fields)


def _broken(kind: str, name: str, what: str, remedy: str) -> Change:
    forget = f"or, where it is meant, run `todoke check --write --forget {quote(name)}`"
    return Change(kind, name, what, f"{remedy}; {forget}.", breaks=True)


def _unrecorded(kind: str, name: str, what: str) -> Change:
    return Change(kind, name, what, "Run `todoke check --write` and commit the file.", breaks=False)


def _shown(name: str | None) -> str:
    return "no key" if name is None else f"`{name}`"
