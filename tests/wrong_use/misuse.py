"""One kind of wrong use, and the words it must be answered with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from todoke import Event, Key, Todoke


@dataclass(frozen=True)
class Misuse:
    """What is done wrong, with which error it ends, and what that says: what, where, remedy."""

    what: str
    do: Callable[[Todoke], object]
    error: type[Exception]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.what


class Placed(Event):
    order_id: Key[int]


class Shipped(Event, ordered=False):
    order_id: int = 0


class Named(Event):
    name: Key[str | None]


class Keyless(Event):
    text: str = ""


class Loose(Event, ordered=False):
    anything: Any = None


class Mailer:
    """Nobody provides it, unless a test does."""


def ordering(app: Todoke, wrong: Callable[[Session], object]) -> None:
    """A transaction of the caller's: an order, then the mistake."""
    with app.session() as session:
        session.execute(text("INSERT INTO orders VALUES (1)"))
        wrong(session)


def start(app: Todoke) -> None:
    """What a worker does before its first message."""
    _ = app.handlers


def misuse(what: str, do: Any, error: type[Exception], *words: str) -> Misuse:
    return Misuse(what, do, error, words)


def with_handler(function: Any, **options: Any) -> Any:
    """Registers it for Placed, and starts."""

    def register(app: Any) -> None:
        app.on(Placed, **options)(function)
        start(app)

    return register
