"""Dying at a crash point, inside the test's own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from todoke import Todoke, crash
from todoke.crash import Died
from todoke.testing.death import Death, armed


@contextmanager
def death_at(name: str) -> Iterator[None]:
    def passage(passed: str) -> None:
        if passed == name:
            raise Died

    before = crash.arm(passage)
    try:
        with pytest.raises(Died):
            yield
    finally:
        crash.arm(before)


def drain_through(app: Todoke, point: str, *, between: Callable[[], object] = lambda: None) -> None:
    """Die at the point, look `between`, let the lease run out, and go on as another process."""
    death = Death(app, point, 1)
    with pytest.raises(Died), armed(death):
        app.drain()
    between()
    death.run_out()
    app.providers.abandon()
    app.drain()
