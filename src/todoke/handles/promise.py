"""A publication that is to be awaited, and what happens when it is not.

`app.publish(conn, event)` without `await` would write nothing, and the commit would keep the change
without its event. So from the call until it is awaited the connection is watched: whatever else is
done with it, a commit above all, is refused. A rollback is not.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, ref

from todoke.driver import Watching
from todoke.errors import NotAwaited

R = TypeVar("R")
Promised: TypeAlias = Callable[[], Coroutine[Any, Any, R]]
"""To be called and awaited."""

_publishing: ContextVar[bool] = ContextVar("todoke_publishing", default=False)
"""What is done now is a publication's own."""


class Promise:
    """One publication."""

    def __init__(self, connection: Any, call: str, watching: Watching) -> None:
        self.call = call
        self._watch = _watches.get(connection)
        if self._watch is None:
            self._watch = _watches[connection] = _Watch(connection, watching)
        self._watch.add(self)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Around what was promised, while it is awaited."""
        assert self._watch is not None  # noqa: S101
        self._watch.remove(self)
        token = _publishing.set(True)
        try:
            yield
        finally:
            _publishing.reset(token)


class _Watch:
    """The promises on one connection that are not kept yet; it does not keep that alive."""

    def __init__(self, connection: Any, watching: Watching) -> None:
        self._connection, self._watching = ref(connection), watching
        self._open: list[Promise] = []

    def add(self, promise: Promise) -> None:
        if not self._open:
            self._watching.watch(self._connection(), self._on_use)
        self._open.append(promise)

    def remove(self, *promises: Promise) -> None:
        if not self._open:
            return  # a rollback came before
        self._open = [promise for promise in self._open if promise not in promises]
        connection = self._connection()
        if not self._open and connection is not None:
            self._watching.unwatch(connection)

    def _on_use(self, rolls_back: bool) -> None:
        if _publishing.get():
            return
        if not rolls_back:
            raise NotAwaited([promise.call for promise in self._open])
        self.remove(*self._open)


_watches: WeakKeyDictionary[Any, _Watch] = WeakKeyDictionary()
