"""What Django asks of a task backend: enqueue, and tell what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.tasks.backends.base import BaseTaskBackend
from django.tasks.base import Task, TaskResult, TaskResultStatus
from django.tasks.exceptions import InvalidTask, InvalidTaskBackend, TaskResultDoesNotExist
from django.tasks.signals import task_enqueued
from django.utils import timezone
from django.utils.json import normalize_json

from todoke.app import Todoke
from todoke.database import reading
from todoke.django.project import alias_of, application
from todoke.django.tasks.call import TaskCall, TaskNotFound, find_task
from todoke.django.tasks.perform import OPTIONS, job_of
from todoke.django.tasks.result import result_of
from todoke.errors import NotFound

P = ParamSpec("P")
R = TypeVar("R")

_ALL_ATTEMPTS = 1_000


class TodokeBackend(BaseTaskBackend):
    """Tasks as jobs of the project's application."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        if unknown := self.options.keys() - OPTIONS:
            raise InvalidTaskBackend(
                f"TASKS[{alias!r}]['OPTIONS'] has {', '.join(sorted(unknown))}, which todoke does "
                f"not know. Known: {', '.join(sorted(OPTIONS))}."
            )

    def enqueue(
        self, task: Task[P, R], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> TaskResult[P, R]:
        """With the transaction that is open on the database of todoke's tables, if one is."""
        self.validate_task(task)
        _check_path(task)
        app = application()
        call = TaskCall(
            path=task.module_path, values=normalize_json(args), named=normalize_json(kwargs)
        )
        alias = self._database(app)
        with transaction.atomic(using=alias, savepoint=False):
            ref = job_of(app, self.alias, self.options).enqueue(
                connections[alias],
                call,
                delay=_aware(task.run_after),
                priority=int(task.priority),
                queue=task.queue_name,
            )
        result = TaskResult(
            task=task,
            id=str(ref.id),
            status=TaskResultStatus.READY,
            enqueued_at=app.clock.now(),
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=call.values,
            kwargs=call.named,
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult[..., Any]:
        """Of what is committed; raises TaskResultDoesNotExist where it is not, or not any more."""
        app = application()
        try:
            id = UUID(str(result_id))
            with app.engine.connect() as connection, reading(connection):
                record = app.jobs.get(connection, id)
                runs = app.jobs.runs(connection, id=id, limit=_ALL_ATTEMPTS)[::-1]
        except (ValueError, NotFound):
            raise TaskResultDoesNotExist(result_id) from None
        if record.job != job_of(app, self.alias, self.options).name:
            raise TaskResultDoesNotExist(result_id)
        return result_of(record, runs, self.alias, self.options)

    def check(self, **_options: Any) -> list[checks.CheckMessage]:
        try:
            self._database(application())
        except ImproperlyConfigured as error:
            return [checks.Error(str(error), id="todoke.E001")]
        return []

    def _database(self, app: Todoke) -> str:
        alias = alias_of(app)
        if alias is None:
            raise ImproperlyConfigured(
                f"TASKS[{self.alias!r}] cannot enqueue: todoke's tables live in none of "
                "settings.DATABASES. Write app = Todoke(connection)."
            )
        return alias


def _check_path(task: Task[..., Any]) -> None:
    """A worker has to find it by the name of its function."""
    try:
        found = find_task(task.module_path, {"modules": [task.func.__module__]})
    except TaskNotFound as error:
        raise InvalidTask(str(error)) from error
    if found.func is not task.func:
        raise InvalidTask(
            f"{task.module_path} is another task. Give each function a name of its own."
        )


def _aware(moment: datetime | None) -> datetime | None:
    """Without USE_TZ Django's times are naive, in the project's zone."""
    if moment is None or timezone.is_aware(moment):
        return moment
    return timezone.make_aware(moment, timezone.get_default_timezone())
