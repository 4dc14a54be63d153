"""An application that tests put elsewhere: on another database, under another clock."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from todoke.bell import NullBell
from todoke.databases.address import address_of
from todoke.elsewhere import Elsewhere, bound
from todoke.rooms import build_rooms

if TYPE_CHECKING:
    from todoke.app import Todoke


class Movable:
    """All it has is in its own dictionary, which is put aside and taken up again."""

    @abstractmethod
    def settle_in(self: Any) -> None:
        """Nothing is known of handlers and values yet, in this place."""

    @contextmanager
    def elsewhere(self: Any, there: Elsewhere) -> Iterator[None]:
        """For tests: be on another database, under another clock; afterwards all is as before.

        What is declared stays; what was built for the other place is used again the next time."""
        before = vars(self).copy()
        if there.rooms:
            _become(self, there.rooms)
        else:
            _move(self, there)
        self.settle_in()
        vars(self)["bell"] = NullBell()  # nobody listens: a test drains
        try:
            yield
        finally:
            try:
                self.close()
            finally:
                there.rooms = vars(self).copy()
                _become(self, before)


def _move(app: Todoke, there: Elsewhere) -> None:
    made = {name for name, one in vars(type(app)).items() if isinstance(one, cached_property)}
    _become(app, {name: one for name, one in vars(app).items() if name not in made})
    app.clock, app.random = there.clock, there.random
    if there.url is not None:
        app.settings = app.settings.with_values({"database.url": there.url})
        app.given_engine, app.address = None, address_of(there.url, app.settings)
        if app.make_session is not None:
            app.make_session = bound(app.make_session, lambda: app.engine)
    build_rooms(app)


def _become(app: Any, state: Mapping[str, Any]) -> None:
    vars(app).clear()
    vars(app).update(state)
