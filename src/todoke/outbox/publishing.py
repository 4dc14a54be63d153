"""`publish` and `publish_all`, for every kind of transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import Engine

from todoke.bell import Bell
from todoke.errors import InvalidOption
from todoke.handles.give import Handles
from todoke.handles.kinds import AsyncTx, SyncTx
from todoke.handles.promise import Promised
from todoke.message import Event
from todoke.outbox.publish import Outbox, Settles
from todoke.work.row import Row


class Publishing:
    """Makes messages of events and hands their rows to the caller's transaction."""

    def __init__(
        self, outbox: Outbox, engine: Callable[[], Engine], bell: Callable[[], Bell]
    ) -> None:
        self._outbox, self._handles = outbox, Handles(outbox, engine, bell)

    def one(
        self,
        tx: SyncTx | AsyncTx,
        event: Event,
        context: str,
        *,
        headers: Mapping[str, str] | None = None,
        settles: Settles | None = None,
        **options: Any,
    ) -> Any:
        (message,) = self._outbox.messages([event], context, headers=headers, settles=settles)
        call = f"publish({type(event).__name__})"
        return self._give(
            tx, self._outbox.rows([message], settles=settles, **options), message, call
        )

    def many(
        self, tx: SyncTx | AsyncTx, events: Iterable[Event], context: str, **options: Any
    ) -> Any:
        if isinstance(events, Event):
            name = type(events).__name__
            raise InvalidOption("publish_all", name, "it takes many. Write [event], or `publish`.")
        messages = self._outbox.messages(list(events), context)
        rows = self._outbox.rows(messages, **options)
        return self._give(tx, rows, messages, "publish_all")

    def _give(self, tx: SyncTx | AsyncTx, rows: list[Row], answer: Any, call: str) -> Any:
        writing = self._handles.give(tx, rows, call)
        return answer if writing is None else _answer_after(writing, answer)


async def _answer_after(write: Promised[object], answer: Any) -> Any:
    await write()
    return answer
