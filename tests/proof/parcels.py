"""An application for the proof of outages: each parcel is noted down, and booked in a session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event, text
from sqlalchemy.orm import Session

from todoke import Event, Key, Settings, Todoke


class Parcel(Event, context="proof", aggregate="parcel", ordered=False):
    number: Key[int]


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    app = Todoke(url, name="proof", settings=Settings(settings, environment={}))
    lines = _file(folder, "noted")

    @app.on(Parcel)
    def note(parcel: Parcel) -> None:
        os.write(lines, f"{parcel.number}\n".encode())

    @app.on(Parcel)
    def book(parcel: Parcel, session: Session) -> None:
        number = {"number": parcel.number}
        session.execute(text("INSERT INTO booked (number) VALUES (:number)"), number)

    _count_connections(folder)
    return app


def _count_connections(folder: str) -> None:
    """A byte for each try of any engine of this process, to have one or to get one back."""
    tries = _file(folder, "tries")

    def count(*_call: Any) -> None:
        os.write(tries, b".")

    event.listen(Engine, "do_connect", count)


def _file(folder: str, name: str) -> int:
    return os.open(Path(folder) / name, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
