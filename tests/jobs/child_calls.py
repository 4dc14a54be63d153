"""Running functions in child processes, as tests do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from todoke.jobs.address import address_of
from todoke.jobs.children import Children, Ended
from todoke.jobs.wire import Task, Told

NO_ARGUMENT = object()


def task(function: Callable[..., Any], argument: object = NO_ARGUMENT, wants: str = "") -> Task:
    """Attempt 2 of job 7; `wants` is the parameter that takes the Run."""
    module, qualname = address_of(function)
    text = None if argument is NO_ARGUMENT else json.dumps(argument)
    return Task(module, qualname, text, wants or None, 2, "key-7", "7", "work")


def run(
    children: Children,
    *what: Any,
    on_told: Callable[[Told], None] = lambda _: None,
    give_up: Callable[[], bool] = lambda: False,
    seconds: float = 60,
) -> Ended:
    return children.run(
        task(*what),
        on_told=on_told,
        give_up=give_up,
        deadline=time.monotonic() + seconds,
    )


def result(ended: Ended) -> Any:
    assert ended.kind == "answered", ended
    assert ended.result is not None
    return json.loads(ended.result)


def has_begun(note: Path) -> bool:
    """A function writes its process's id there, to say that it runs."""
    return note.exists() and note.read_text() != ""
