"""From what `@context.job` was given to jobs that can run: checked, named, with their policies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, get_origin

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from todoke.duration import seconds
from todoke.errors import DuplicateName, InvalidOption
from todoke.handlers import check_injected, queue_name, surrounded
from todoke.jobs.argument import OUTCOMES, Shape, without_outcomes
from todoke.jobs.handler import JobHandler
from todoke.jobs.in_child import PARAMETER, in_child
from todoke.jobs.job import Job
from todoke.jobs.run import Run
from todoke.limits import bounds as bounds_of
from todoke.outcome import Done
from todoke.retry import policy
from todoke.settings import Settings
from todoke.work.attempt import Attempt
from todoke.work.handler import Parameter, hints_of, parameters_of, place, session_parameter

if TYPE_CHECKING:
    from todoke.app import Todoke
    from todoke.context import Context

INJECTED = (Run, Attempt, Session, AsyncSession)
"""A first parameter of one of these is no argument."""
EXECUTORS = ("thread", "process")


def job_handlers(app: Todoke) -> dict[str, JobHandler]:
    """All jobs of an application, by each of their names."""
    known: dict[str, JobHandler] = {}
    for context in app.contexts:
        for job in context.declared_jobs:
            handler = job_handler_of(app, context, job)
            for name in (handler.name, *handler.aliases):
                if (other := known.get(name)) is not None:
                    raise DuplicateName("job", name, place(other.function), place(job.function))
                known[name] = handler
    return known


def job_handler_of(app: Todoke, context: Context, job: Job[Any, Any]) -> JobHandler:
    """The job as it can run; refuses what could not."""
    owner = f"job {job.name!r} ({place(job.function)})"
    _check_name(job.name, owner)
    options = {**job.options, **app.settings.for_handler(job.name)}
    is_async = inspect.iscoroutinefunction(job.function)
    parameters = parameters_of(job.function, owner)
    argument, injected = _argument(parameters)
    session = session_parameter(injected, owner, is_async=is_async)
    check_injected(app, context, injected, session, owner, own=(Run, Attempt))
    run_parameter = next((one.name for one in injected if one.kind is Run), None)
    on_crash, executor = options["on_crash"], options["executor"]
    if on_crash not in ("retry", "ask"):
        raise InvalidOption(f"{owner} on_crash", on_crash, '"retry" or "ask".')
    if executor not in EXECUTORS:
        raise InvalidOption(f"{owner} executor", executor, '"thread" or "process".')
    shapes = (
        None if argument is None else _shape(argument.kind, f"{owner} {argument.name}"),
        _shape(_result(job.function, owner), f"{owner} ->"),
    )
    timeout = seconds(options["timeout"] or app.settings.get("worker.timeout"), f"{owner} timeout")
    if executor == "process":
        _check_for_child(injected, owner)
        function: Callable[..., Any] = in_child(
            job.function,
            job.name,
            *shapes,
            run_parameter,
            timeout,
            app.job_room.children,
            app.settings.number("payload.max_bytes"),
        )
        injected, is_async = (Parameter(PARAMETER, Run),), False
    else:
        function = _answering(
            surrounded(app, job.function), run_parameter, takes_argument=argument is not None
        )
    return JobHandler(
        name=job.name,
        context=context.name,
        function=function,
        events=(),
        parameters=injected,
        is_async=is_async,
        retry=policy(options["retry"] or "job", app.settings.retry_policies, f"{owner} retry"),
        timeout=timeout,
        on_crash=on_crash,
        middleware=(*app.middlewares, *(context.middlewares if context is not app else ())),
        classifiers=(*context.classifiers, *(app.classifiers if context is not app else ())),
        session_parameter=session,
        queue=queue_name(options["queue"], owner),
        followers="skip",
        bounds=bounds_of(job.name, options["limit"], options["breaker"], has_keys=True),
        job=job,
        argument=shapes[0],
        result=shapes[1],
        executor=executor,
        aliases=tuple(options["aliases"]),
        priority=options["priority"],
        keep_successes=_kept(options["keep_successes"], app.settings, owner),
        keeps_rows=bool(options["keep_successes"]),
        enabled=app.settings.job_enabled(job.name),
        run_parameter=run_parameter,
    )


def _kept(wish: object, settings: Settings, owner: str) -> int:
    if wish is None:
        return settings.number("jobs.keep_successes", least=0)
    if not isinstance(wish, int) or isinstance(wish, bool) or wish < 0:
        raise InvalidOption(f"{owner} keep_successes", wish, "a whole number from 0 on.")
    return wish


def _check_for_child(injected: tuple[Parameter, ...], owner: str) -> None:
    for one in injected:
        if one.kind is not Run:
            raise InvalidOption(
                f"{owner} {one.name}",
                getattr(one.kind, "__name__", one.kind),
                'a job with executor="process" runs in another process, and is given its argument '
                "and a Run only. Make there what it needs.",
            )


def _check_name(name: object, owner: str) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= 100 or "/" in name:
        raise InvalidOption(owner, name, 'a name has at most 100 characters and no "/".')


def _argument(
    parameters: list[Parameter],
) -> tuple[Parameter | None, tuple[Parameter, ...]]:
    if parameters and parameters[0].kind not in INJECTED:
        return parameters[0], tuple(parameters[1:])
    return None, tuple(parameters)


def _shape(kind: Any, owner: str) -> Shape:
    try:
        return Shape(kind)
    except Exception as error:
        told = getattr(kind, "__name__", kind)
        raise InvalidOption(
            owner,
            told,
            "cannot be written as JSON. Use a pydantic model, a dataclass, or a plain type.",
        ) from error


def _result(function: Callable[..., Any], owner: str) -> Any:
    kind = hints_of(function, owner).get("return", Any)
    return without_outcomes(kind) if get_origin(kind) is not None or kind is not Any else Any


def _answering(
    function: Callable[..., Any], run_parameter: str | None, *, takes_argument: bool
) -> Callable[..., Any]:
    """The function, called with its argument or without; what it answers is its result."""

    @wraps(function)
    def call(argument: Any, **injected: Any) -> Any:
        values, run = (argument,) if takes_argument else (), injected.get(run_parameter or "")
        try:
            outcome = _outcome(function(*values, **injected))
        except BaseException:
            _end(run, well=False)
            raise
        _end(run, well=isinstance(outcome, Done))
        return outcome

    @wraps(function)
    async def call_async(argument: Any, **injected: Any) -> Any:
        values, run = (argument,) if takes_argument else (), injected.get(run_parameter or "")
        try:
            outcome = _outcome(await function(*values, **injected))
        except BaseException:
            await _end_async(run, well=False)
            raise
        await _end_async(run, well=isinstance(outcome, Done))
        return outcome

    return call_async if inspect.iscoroutinefunction(function) else call


def _outcome(answer: Any) -> Any:
    return answer if isinstance(answer, OUTCOMES) else Done(answer)


def _end(run: Run | None, *, well: bool) -> None:
    if run is not None and run.loops:
        run.end(well=well)


async def _end_async(run: Run | None, *, well: bool) -> None:
    if run is not None and run.loops:
        await run.end_async(well=well)
