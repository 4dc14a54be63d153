"""Where a test lets an application be for a while: another database, another clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from todoke.clock import Clock


@dataclass(eq=False)
class Elsewhere:
    """An address, a clock and chance, and what an application has built for them so far.

    Without an address the application stays where it is, under another clock.
    """

    url: str | None
    clock: Clock
    random: Random
    rooms: dict[str, Any] = field(default_factory=dict)


def bound(make: Callable[[], Session], engine: Callable[[], Engine]) -> Callable[[], Session]:
    """Sessions of the user's own making, but on another engine."""

    def fresh() -> Session:
        session = make()
        session.bind = engine()
        return session

    return fresh
