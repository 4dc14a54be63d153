"""Event cycles: handlers that publish what leads back to them would never end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from todoke.errors import EventCycle
from todoke.message import Event
from todoke.work.handler import Handler

Step: TypeAlias = tuple[type[Event], Handler]
"""An event, and a handler that takes it."""


def refuse_cycles(handlers: Iterable[Handler]) -> None:
    """Follow what each handler declares to publish; a way that leads back is refused."""
    known = list(handlers)
    ended: set[Handler] = set()
    for handler in known:
        _follow([(handler.events[0], handler)], known, ended)


def _follow(path: list[Step], known: Sequence[Handler], ended: set[Handler]) -> None:
    handler = path[-1][1]
    if handler in ended:
        return
    for event, taker in _next(handler, known):
        passed = [one for _, one in path]
        if taker in passed:
            raise EventCycle(_told([(event, taker), *path[passed.index(taker) + 1 :]]))
        _follow([*path, (event, taker)], known, ended)
    ended.add(handler)


def _next(handler: Handler, known: Sequence[Handler]) -> Iterator[Step]:
    for event in handler.publishes or ():
        context = event.declared.context or handler.context
        yield from ((event, one) for one in known if _takes(one, event, context))


def _takes(handler: Handler, event: type[Event], context: str) -> bool:
    return any(
        one.declared.type == event.declared.type and one.declared.context in (None, context)
        for one in handler.events
    )


def _told(ring: Sequence[Step]) -> list[str]:
    """OrderPlaced, 'reserve', StockReserved, 'reprice', and OrderPlaced again."""
    words = [word for event, one in ring for word in (event.__name__, repr(one.name))]
    return [*words, words[0]]
