"""Which task a row is for: the path of its function, and what it is called with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps
from django.conf import settings
from django.tasks.base import Task
from django.utils.module_loading import import_string
from pydantic import BaseModel


class TaskCall(BaseModel):
    """The argument of the job."""

    path: str
    values: list[Any] = []
    named: dict[str, Any] = {}


class TaskNotFound(LookupError):
    """This process has no such task; another release may."""


def find_task(path: str, options: Mapping[str, Any]) -> Task[..., Any]:
    """The task at this path; a row can name nothing that is not a task of the project's."""
    module = path.rpartition(".")[0]
    if module not in sys.modules and not _is_the_projects(module, options):
        raise TaskNotFound(
            f"{path} lies neither in an installed app nor beside {settings.ROOT_URLCONF}. "
            'Name its module in OPTIONS: {"modules": ["…"]}.'
        )
    try:
        found = import_string(path)
    except ImportError as error:
        raise TaskNotFound(f"There is no task {path}: {error}.") from error
    if not isinstance(found, Task):
        raise TaskNotFound(f"{path} is no task: write @task on it, under the function's own name.")
    return found


def _is_the_projects(module: str, options: Mapping[str, Any]) -> bool:
    return any(f"{module}.".startswith(f"{root}.") for root in _roots(options) if root)


def _roots(options: Mapping[str, Any]) -> Iterator[str]:
    yield from (config.name for config in apps.get_app_configs())
    yield str(getattr(settings, "ROOT_URLCONF", "")).partition(".")[0]
    yield from options.get("modules", ())
