"""An application with a bell, and listeners that write down what they heard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import make_url

from tests.application import application
from tests.waiting import until
from todoke import Todoke
from todoke.bell import EVERYWHERE, SOMEBODY, Bell, Ear, Hints
from todoke.databases.bells import bell_for, ear_for
from todoke.hint import without_lane
from todoke.outbox.publish import Outbox
from todoke.outbox.publishing import Publishing
from todoke.outbox.ring import ring_after_commit

PLACED = frozenset({"event:ordered:todoke/default"})


@contextmanager
def ringing_application(url: str, *, gap: float = 0.0, bell_url: str = "") -> Iterator[Todoke]:
    with application(url) as app:
        bell = bell_for(app.database, make_url(bell_url or url), gap=gap)
        equip(app, bell)
        try:
            yield app
        finally:
            bell.close()


def equip(app: Todoke, bell: Bell) -> None:
    limit = app.settings.number("payload.max_bytes")
    ring = partial(ring_after_commit, bell)
    app.outbox = Outbox(app.outbox_table, app.database, app.identities, max_bytes=limit, ring=ring)
    app.publishing = Publishing(app.outbox, lambda: app.engine, lambda: bell)


class Heard:
    """Rings as they came, without lanes; the first "everywhere" of the start is left out."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.ear: Ear
        self.rings: list[Hints] = []
        self._then, self._listening = then, threading.Event()

    def note(self, hints: Hints) -> None:
        if hints != SOMEBODY:
            hints = frozenset(without_lane(hint) for hint in hints)
        if hints in (EVERYWHERE, SOMEBODY) and not self._listening.is_set():
            self._listening.set()
            return
        self._then()
        self.rings.append(hints)

    def until_listening(self) -> None:
        assert self._listening.wait(10)
        until(lambda: self.ear.works is not None)


@contextmanager
def listener(
    app: Todoke,
    *,
    listen_url: str = "",
    gap: float = 0.0,
    then: Callable[[], None] = lambda: None,
) -> Iterator[Heard]:
    """Listens to the bells of an application from before the first line of the test."""
    heard = Heard(then)
    straight = make_url(listen_url) if listen_url else None
    heard.ear = ear_for(app.database, app.url, straight, heard.note, gap=gap, poll=1.0)
    heard.ear.start()
    try:
        heard.until_listening()
        yield heard
    finally:
        heard.ear.stop()
