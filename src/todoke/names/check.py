"""Everything that can be known without a database: would it start, and do its names last?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from todoke.errors import InvalidOption, TodokeError
from todoke.finding import Finding, bad, ok, warn
from todoke.handlers import handler_of
from todoke.job_handlers import job_handler_of
from todoke.names.change import accepted, changes
from todoke.names.declared import Names, names_of, twins
from todoke.names.file import read, write
from todoke.retention.period import retention_of
from todoke.runtime import Runtime

if TYPE_CHECKING:
    from todoke.app import Todoke

_NUMBERS = (
    *("worker.processes", "worker.threads", "lease.poison", "payload.max_bytes"),
    "jobs.keep_successes",
)
_TIMES = (
    *("worker.timeout", "worker.drain_timeout", "outbox.handler_grace", "outbox.wake_gap"),
    *("ledger.expires", "ledger.retry_after", "jobs.keep"),
)


def check(app: Todoke, file: Path) -> list[Finding]:
    """What a worker would refuse, what settings name in vain, which names are not as recorded."""
    return [*_start(app), *_settings(app), *_names(app, file)]


def record(app: Todoke, file: Path, forget: Collection[str] = ()) -> None:
    """Record the names; a lost or broken one stays as it was, unless it is to be forgotten."""
    recorded = read(file) or Names(events={}, handlers={})
    for name in forget:
        if name not in {*recorded.events, *recorded.handlers, *recorded.jobs}:
            raise InvalidOption("--forget", name, f"{file} has no such event, handler or job.")
    write(file, accepted(recorded, names_of(app), set(forget)))


# --- start -----------------------------------------------------------------------------------


def _start(app: Todoke) -> list[Finding]:
    refused = [
        _refusal("handler", error)
        for context in app.contexts
        for wish in context.wishes
        for error in _refused(partial(handler_of, app, context, wish))
    ]
    refused += [
        _refusal("job", error)
        for context in app.contexts
        for job in context.declared_jobs
        for error in _refused(partial(job_handler_of, app, context, job))
    ]
    refused += [_refusal("event", error) for error in twins(app)]
    if not refused:
        refused = [_refusal("handlers", error) for error in _refused(lambda: app.handlers)]
    return refused or list(_can_run(app))


def _can_run(app: Todoke) -> Iterator[Finding]:
    yield ok("handlers", f"{sum(len(context.wishes) for context in app.contexts)} can run")
    if jobs := sum(len(context.declared_jobs) for context in app.contexts):
        yield ok("jobs", f"{jobs} can run")


def _refused(attempt: Callable[[], object]) -> Iterator[TodokeError]:
    try:
        attempt()
    except TodokeError as error:
        yield error


def _refusal(what: str, error: TodokeError) -> Finding:
    if isinstance(error, InvalidOption):
        return bad(what, f"{error.option} = {error.value!r}", error.remedy)
    return bad(what, str(error), error.remedy)


# --- settings --------------------------------------------------------------------------------


def _settings(app: Todoke) -> list[Finding]:
    settings = app.settings
    reads: list[Callable[[], object]] = [partial(settings.number, name) for name in _NUMBERS]
    reads += [partial(settings.seconds, name) for name in _TIMES]
    reads += [lambda: settings.requires_tls, lambda: settings.contexts, lambda: settings.profile]
    reads += [lambda: settings.conflict_status, lambda: settings.stored_failures]
    if not list(_refused(lambda: app.handlers)):
        reads += [lambda: Runtime(app), lambda: retention_of(settings, app.handlers.horizon)]
    # One setting may be read in several places.
    refused = dict.fromkeys(_refusal("settings", error) for one in reads for error in _refused(one))
    return list(refused) or _unknown(app) or [ok("settings", "name nothing that is not there")]


def _unknown(app: Todoke) -> list[Finding]:
    jobs = {job.name for context in app.contexts for job in context.declared_jobs}
    handlers = {wish.name for context in app.contexts for wish in context.wishes} | jobs
    lost = [name for name in app.settings.named_handlers if name not in handlers]
    findings = [
        bad(
            "settings",
            f"handlers.{name}: the application has no such handler or job",
            f"Correct the name, or remove it. Known: {', '.join(sorted(handlers)) or 'none'}.",
        )
        for name in lost
    ]
    findings += [
        bad(
            "settings",
            f"jobs.enabled.{name}: the application has no such job",
            f"Correct the name, or remove it. Known: {', '.join(sorted(jobs)) or 'none'}.",
        )
        for name in app.settings.switched_jobs
        if name not in jobs
    ]
    known = app.context_names
    findings += [
        bad(
            "settings",
            f"worker.contexts: the application has no context {name!r}",
            f"Correct the name, or remove it. Known: {', '.join(sorted(known))}.",
        )
        for name in app.settings.contexts or ()
        if name not in known
    ]
    return findings


# --- names -----------------------------------------------------------------------------------


def _names(app: Todoke, file: Path) -> list[Finding]:
    try:
        recorded = read(file)
    except InvalidOption as error:
        return [_refusal("names", error)]
    if recorded is None:
        return [
            bad(
                "names",
                f"there is no {file} yet, so nobody would notice a name that is lost",
                "Run `todoke check --write` and commit the file.",
            )
        ]
    try:
        declared = names_of(app)
    except TodokeError as error:
        return [_refusal("names", error)]
    found = [
        (bad if one.breaks else warn)(one.kind, f"{one.name} {one.what}", one.remedy)
        for one in changes(recorded, declared)
    ]
    counted = f"{len(declared.events)} of events, {len(declared.handlers)} of handlers"
    counted += f", {len(declared.jobs)} of jobs" if declared.jobs else ""
    return found or [ok("names", f"{counted}, as recorded in {file}")]
