"""The job that all tasks of a backend are, as a worker runs it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.tasks import task_backends
from django.tasks.base import Task, TaskContext, TaskResult, TaskResultStatus
from django.tasks.signals import task_finished, task_started
from django.utils.json import normalize_json

from todoke.app import Todoke
from todoke.django.tasks.call import TaskCall, TaskNotFound, find_task
from todoke.django.tasks.result import as_enqueued, error_of, mark
from todoke.errors import BusinessError, PermanentError
from todoke.jobs.job import Job
from todoke.jobs.run import Run
from todoke.outcome import Snooze

NAME = "django-task"
OF_THE_JOB = frozenset({"retry", "timeout", "on_crash", "limit", "breaker"})
OPTIONS = OF_THE_JOB | {"keep_results", "modules"}

_KEPT_RESULTS = 10_000
_LOOK_AGAIN = "5s"


def job_of(app: Todoke, alias: str, options: Mapping[str, Any]) -> Job[TaskCall, Any]:
    """The job of this backend's tasks; declared where it is not yet."""
    name = NAME if alias == "default" else f"{NAME}-{alias}"
    known = (job for job in app.declared_jobs if job.name == name)
    if (job := next(known, None)) is not None:
        return job
    own = {option: options[option] for option in OF_THE_JOB & options.keys()}
    kept = options.get("keep_results", _KEPT_RESULTS)
    declare = app.job(name=name, keep_successes=kept, **own)
    declared: Job[TaskCall, Any] = declare(_function(app, alias, options))
    return declared


def _function(
    app: Todoke, alias: str, options: Mapping[str, Any]
) -> Callable[[TaskCall, Run], Any]:
    grace = timedelta(seconds=app.settings.seconds("outbox.handler_grace"))

    def perform_task(call: TaskCall, run: Run) -> Any:
        try:
            task = find_task(call.path, options)
        except TaskNotFound as error:
            if app.clock.now() - run.message.created_at < grace:
                return Snooze(_LOOK_AGAIN)  # perhaps of a release that is about to come
            raise PermanentError(str(error), code="TASK_NOT_FOUND") from error
        return _Performance(_running(app, alias, task, call, run), run)()

    return perform_task


def _running(
    app: Todoke, alias: str, task: Task[..., Any], call: TaskCall, run: Run
) -> TaskResult[..., Any]:
    """What is known of it at the beginning of this attempt."""
    if run.number > 1:
        return task_backends[alias].get_result(str(run.message.id))
    now = app.clock.now()
    return TaskResult(
        task=as_enqueued(task, alias),
        id=str(run.message.id),
        status=TaskResultStatus.RUNNING,
        enqueued_at=run.message.created_at,
        started_at=now,
        finished_at=None,
        last_attempted_at=now,
        args=call.values,
        kwargs=call.named,
        backend=alias,
        errors=[],
        worker_ids=[f"{socket.gethostname()}:{os.getpid()}"],
    )


class _Performance:
    """One attempt at one task, with the signals around it."""

    def __init__(self, result: TaskResult[..., Any], run: Run) -> None:
        self._result, self._run = result, run
        self._sender = type(task_backends[result.backend])

    def __call__(self) -> Any:
        task_started.send_robust(self._sender, task_result=self._result)
        try:
            answer = self._answer()
        except Exception as error:
            mark(error)
            if self._is_last(error):
                self._result.errors.append(error_of(error))
                self._finish(TaskResultStatus.FAILED)
            raise
        object.__setattr__(self._result, "_return_value", answer)
        self._finish(TaskResultStatus.SUCCESSFUL)
        return answer

    def _answer(self) -> Any:
        result = self._result
        context = [TaskContext(task_result=result)] if result.task.takes_context else []
        answer = result.task.call(*context, *result.args, **result.kwargs)
        try:
            return normalize_json(answer)
        except (TypeError, ValueError) as error:
            # Not to be tried again: it would answer the same, and do all it does once more.
            raise PermanentError(
                f"{result.task.module_path} answered a {type(answer).__name__}, which is no JSON: "
                f"{error}.",
                code="RESULT_NOT_JSON",
            ) from error

    def _is_last(self, error: Exception) -> bool:
        of = self._run.of
        final = isinstance(error, PermanentError | BusinessError)
        return final or (of is not None and self._run.number >= of)

    def _finish(self, status: TaskResultStatus) -> None:
        object.__setattr__(self._result, "status", status)
        task_finished.send_robust(self._sender, task_result=self._result)
