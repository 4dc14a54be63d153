"""An application for the proof of order: numbered steps of keys, handled in three ways.

Each handler writes down what it was given, by one append to a file that all processes share, so
that the lines are in the order of the deliveries.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.orm import Session

from todoke import Attempt, Event, Key, Settings, Todoke, TransientError


class Step(Event, context="proof", aggregate="walk"):
    """One handler, in place."""

    walk: Key[int]
    number: int


class SharedStep(Step):
    """Two handlers: a delivery each, one of them with a session."""


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    app = Todoke(url, name="proof", settings=Settings(settings, environment={}))
    note = _notes(Path(folder) / "steps")

    @app.on(Step)
    def walk(event: Step, attempt: Attempt) -> None:
        note("walk", event, attempt)
        _fail_once(event, attempt)

    @app.on(SharedStep)
    def follow(event: SharedStep, attempt: Attempt) -> None:
        note("follow", event, attempt)
        _fail_once(event, attempt)

    @app.on(SharedStep)
    def record(event: SharedStep, session: Session, attempt: Attempt) -> None:
        _fail_once(event, attempt)
        step = {"walk": event.walk, "number": event.number}
        session.execute(text("INSERT INTO steps (walk, number) VALUES (:walk, :number)"), step)

    return app


def _fail_once(event: Step, attempt: Attempt) -> None:
    """Every twentieth, at its first attempt."""
    if (event.walk + event.number) % 20 == 0 and attempt.number == 1:
        raise TransientError("stumbled")


def _notes(file: Path) -> Callable[[str, Step, Attempt], None]:
    lines = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def note(handler: str, event: Step, attempt: Attempt) -> None:
        who = f"{os.getpid()}/{attempt.number}"
        os.write(lines, f"{handler} {event.walk} {event.number} {time.time():.3f} {who}\n".encode())

    return note
