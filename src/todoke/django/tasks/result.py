"""What became of a task, in Django's words: read from the job and the history of its runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from traceback import format_exception
from typing import Any

from django.tasks.base import Task, TaskError, TaskResult, TaskResultStatus
from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist

from todoke import codec
from todoke.django.tasks.call import TaskCall, TaskNotFound, find_task
from todoke.jobs.history import FAILED, SUCCEEDED
from todoke.jobs.records import CANCELLED, PENDING, PROCESSED, PROCESSING, JobRecord, RunRecord

_MARK = "exception class: "
_MARKED = re.compile(rf"^[ |]*{_MARK}(\S+)\n?", re.MULTILINE)
_USUAL = {
    "timeout": "builtins.TimeoutError",
    "business": "todoke.errors.BusinessError",
    "permanent": "todoke.errors.PermanentError",
}


def result_of(
    record: JobRecord, runs: Sequence[RunRecord], alias: str, options: Mapping[str, Any]
) -> TaskResult[..., Any]:
    """`runs` from the first to the last."""
    call = TaskCall.model_validate_json(record.argument)
    try:
        task = find_task(call.path, options)
    except TaskNotFound as error:
        raise TaskResultDoesNotExist(f"{record.id}: {error}") from error
    status = _status(record, runs)
    result = TaskResult(
        task=as_enqueued(task, alias, record),
        id=str(record.id),
        status=status,
        enqueued_at=record.created_at,
        started_at=runs[0].started_at if runs else None,
        finished_at=record.settled_at if record.has_ended else None,
        last_attempted_at=runs[-1].started_at if runs else None,
        args=call.values,
        kwargs=call.named,
        backend=alias,
        errors=_errors(record, runs, status),
        worker_ids=_workers(record, runs),
    )
    if status == TaskResultStatus.SUCCESSFUL:
        answer = next(run.result for run in reversed(runs) if run.status == SUCCEEDED)
        object.__setattr__(result, "_return_value", None if answer is None else codec.load(answer))
    return result


def as_enqueued(
    task: Task[..., Any], alias: str, record: JobRecord | None = None
) -> Task[..., Any]:
    """With what was asked for then; as declared, where the backend would refuse that by now."""
    try:
        if record is None:
            return task.using(backend=alias)
        return task.using(backend=alias, priority=record.priority, queue_name=record.queue)
    except InvalidTask:
        return task


def mark(error: Exception) -> None:
    """Let its class be known from the traceback that is kept."""
    error.add_note(f"{_MARK}{_path(error)}")


def error_of(error: Exception) -> TaskError:
    text = _MARKED.sub("", "".join(format_exception(error)))
    return TaskError(exception_class_path=_path(error), traceback=text)


def _path(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def _status(record: JobRecord, runs: Sequence[RunRecord]) -> TaskResultStatus:
    if record.status == PENDING:
        return TaskResultStatus.READY
    if record.status == PROCESSING:
        return TaskResultStatus.RUNNING
    if record.status != PROCESSED or record.note is not None:
        return TaskResultStatus.FAILED
    if not any(run.status == SUCCEEDED for run in runs):
        raise TaskResultDoesNotExist(f"{record.id}: it was successful, its result is not kept.")
    return TaskResultStatus.SUCCESSFUL


def _errors(
    record: JobRecord, runs: Sequence[RunRecord], status: TaskResultStatus
) -> list[TaskError]:
    errors = [_error(run) for run in runs if run.status == FAILED]
    if status == TaskResultStatus.FAILED and not errors:
        errors.append(_without_a_run(record))
    return errors


def _error(run: RunRecord) -> TaskError:
    text = run.error_traceback or f"{run.error_code}: {run.error_message}"
    marked = _MARKED.findall(text)
    usual = _USUAL.get(run.error_class or "", "todoke.errors.TransientError")
    return TaskError(
        exception_class_path=marked[-1] if marked else usual, traceback=_MARKED.sub("", text)
    )


def _without_a_run(record: JobRecord) -> TaskError:
    """It was given up, cancelled or skipped before an attempt could tell."""
    kind = "Cancelled" if record.status == CANCELLED else "TodokeError"
    return TaskError(
        exception_class_path=f"todoke.errors.{kind}",
        traceback=record.error or record.note or record.status,
    )


def _workers(record: JobRecord, runs: Sequence[RunRecord]) -> list[str]:
    """One for each attempt; of one that died at once nobody may know where it was."""
    known = {run.attempt: run.worker for run in runs}
    if record.status == PROCESSING and record.worker is not None:
        known[record.attempts] = record.worker
    return [known.get(number) or "unknown" for number in range(1, record.attempts + 1)]
