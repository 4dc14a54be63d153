"""Dying at a crash point, inside the test's own process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from todoke import crash
from todoke.crash import Died


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
