"""The application that the commands are tried on."""

from __future__ import annotations

import threading
from pathlib import Path

from todoke import Attempt, Context, Event, Key, PermanentError, Personal, Todoke

TOO_HEAVY = 100

parcels = Context("parcels")


class ParcelEvent(Event, context="parcels"):
    """Published and handled in one context: its handler takes it in place."""


class ParcelSent(ParcelEvent):
    parcel: Key[int]
    mail: Personal[str]
    weight: int
    remark: str = ""


class ReceiverMoved(ParcelEvent):
    phone: Key[Personal[str]]


class ParcelHeld(ParcelEvent, ordered=False):
    """Its handler runs until a file called `go` lies in the current directory."""


class ParcelStuck(ParcelEvent, ordered=False):
    """Its handler hangs for ever."""


class ParcelLost(ParcelEvent, ordered=False):
    """Nobody handles it."""

    finder: str = ""


@parcels.on(ParcelSent)
def tell(event: ParcelSent, attempt: Attempt) -> None:
    attempt.log.info("parcel %d goes to %s", event.parcel, event.mail)
    if event.weight > TOO_HEAVY:
        raise PermanentError(f"{event.weight} kg for {event.mail}", code="TOO_HEAVY")


@parcels.on(ReceiverMoved)
def forget(event: ReceiverMoved) -> None:
    pass


@parcels.on(ParcelHeld)
def hold(event: ParcelHeld) -> None:
    Path("held").touch()
    pause = threading.Event()
    while not Path("go").exists():
        pause.wait(0.02)


@parcels.on(ParcelStuck, timeout="100ms")
def hang(event: ParcelStuck) -> None:
    threading.Event().wait()


def build(database: str | None = None) -> Todoke:
    app = Todoke(database)
    app.include(parcels)
    return app
