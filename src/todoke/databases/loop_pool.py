"""Connections for async code: a bounded pool for each event loop that asks, ended with its loop.

A connection of some drivers can be used, and closed, only in the event loop that opened it, and a
queue that was waited at in one loop refuses every other. An application has one async engine and
any number of loops: a server's, a worker's, one for each test.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Task, get_running_loop, sleep
from collections.abc import AsyncGenerator
from contextlib import suppress
from threading import Lock
from typing import Any

from sqlalchemy import AsyncAdaptedQueuePool
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlalchemy.util import await_only, greenlet_spawn

_A_MOMENT = 0.005


class PoolPerLoop(AsyncAdaptedQueuePool):
    """For `create_async_engine(poolclass=…)`; sizes are those of each loop."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._by_loop: dict[AbstractEventLoop, _LoopPool] = {}
        self._introduced, self._introducing = False, Lock()

    def connect(self) -> PoolProxiedConnection:
        pool = self._of_this_loop()
        return pool.connect() if self._introduced else self._connect_first(pool)

    def _connect_first(self, pool: _LoopPool) -> PoolProxiedConnection:
        """The first learns what the server is, for all; SQLAlchemy's own lock knows one loop."""
        while not self._introduced:
            if self._introducing.acquire(blocking=False):
                try:
                    connection = pool.connect()
                    self._introduced = True
                    return connection
                finally:
                    self._introducing.release()
            await_only(sleep(_A_MOMENT))
        return pool.connect()

    def dispose(self) -> None:
        """Close what rests now, and what is in use when it comes back, each in its own loop."""
        here = _running_loop()
        while self._by_loop:
            loop, pool = self._by_loop.popitem()
            if loop is here:
                pool.dispose()
            else:
                pool.dispose_in(loop)

    def checkedin(self) -> int:
        return sum(pool.checkedin() for pool in list(self._by_loop.values()))

    def checkedout(self) -> int:
        return sum(pool.checkedout() for pool in list(self._by_loop.values()))

    def _invalidate(self, connection: PoolProxiedConnection, *told: Any, **more: Any) -> None:
        self._of_this_loop()._invalidate(connection, *told, **more)

    def _of_this_loop(self) -> _LoopPool:
        here = get_running_loop()
        known = self._by_loop.get(here)
        if known is None:
            self._forget_closed_loops()
            known = self._by_loop[here] = self._begin()
        return known

    def _begin(self) -> _LoopPool:
        pool = _LoopPool(
            self._creator,
            pool_size=self.size(),
            max_overflow=self._max_overflow,
            timeout=self.timeout(),
            recycle=self._recycle,
            pre_ping=self._pre_ping,
            use_lifo=self._pool.use_lifo,
            echo=self.echo,
            logging_name=self._orig_logging_name,
            reset_on_return=self._reset_on_return,
            dialect=self._dialect,
        )
        # The same, not a copy: who listens to the engine later on is told as well.
        pool.dispatch = self.dispatch
        pool.stay_until_the_loop_ends()
        return pool

    def _forget_closed_loops(self) -> None:
        for loop in list(self._by_loop):
            if loop.is_closed():
                self._by_loop.pop(loop, None)


class _LoopPool(AsyncAdaptedQueuePool):
    _disposed = False
    _stay: AsyncGenerator[None]
    _disposing: Task[None]

    def stay_until_the_loop_ends(self) -> None:
        """A loop that ends closes the generators that were begun in it: this one as well."""
        self._stay = self._staying()
        with suppress(StopIteration):  # it yields before it awaits anything
            self._stay.__anext__().send(None)

    async def _staying(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await greenlet_spawn(self.dispose)

    def dispose(self) -> None:
        self._disposed = True
        super().dispose()

    def dispose_in(self, loop: AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # it has been closed, and with it what it held
            loop.call_soon_threadsafe(self._dispose_soon, loop)

    def _dispose_soon(self, loop: AbstractEventLoop) -> None:
        self._disposing = loop.create_task(greenlet_spawn(self.dispose))

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        if not self._disposed:
            super()._do_return_conn(record)
            return
        try:
            record.close()
        finally:
            self._dec_overflow()


def _running_loop() -> AbstractEventLoop | None:
    try:
        return get_running_loop()
    except RuntimeError:
        return None
