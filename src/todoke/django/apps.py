"""The Django app `todoke`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django
from django.apps import AppConfig
from django.core import checks
from django.db import connections

if TYPE_CHECKING:
    from todoke.app import Todoke


class TodokeConfig(AppConfig):
    """Loads the project's application, so that its contexts are included in every process."""

    name = "todoke.django"
    label = "todoke"
    verbose_name = "todoke"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from todoke.django.attempts import fresh_connections  # noqa: PLC0415
        from todoke.django.project import application  # noqa: PLC0415

        app = application()
        app.surround("django", fresh_connections)
        if django.VERSION >= (6,):
            _declare_tasks(app)
        checks.register(_check_database)
        for alias in connections:
            _close_before_dropping(connections[alias].creation, app)


def _declare_tasks(app: Todoke) -> None:
    """A worker has to know the jobs that tasks are, also where it never enqueues any."""
    from django.tasks import task_backends  # noqa: PLC0415

    from todoke.django.tasks import TodokeBackend  # noqa: PLC0415
    from todoke.django.tasks.perform import job_of  # noqa: PLC0415

    for backend in task_backends.all():
        if isinstance(backend, TodokeBackend):
            job_of(app, backend.alias, backend.options)


def _close_before_dropping(creation: Any, app: Any) -> None:
    """A test database is dropped only while nobody is connected to it."""
    drop = creation.destroy_test_db

    def destroy_test_db(*arguments: Any, **named: Any) -> None:
        app.close()
        drop(*arguments, **named)

    creation.destroy_test_db = destroy_test_db


def _check_database(**_options: Any) -> list[checks.CheckMessage]:
    from todoke.django.project import alias_of, application  # noqa: PLC0415

    if alias_of(application()) is not None:
        return []
    return [
        checks.Warning(
            "todoke's tables live in none of settings.DATABASES, so `migrate` does not make them.",
            hint="Write app = Todoke(connection), or run `manage.py todoke migrate` as well.",
            id="todoke.W001",
        )
    ]
