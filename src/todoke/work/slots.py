"""Where handlers run: `def` in threads, `async def` on one event loop, so many at once.

Calls are handed over and answers collected in bunches: a hop between threads costs more than a
small handler does.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from todoke.fork import after_fork
from todoke.work.call import Answer, Call
from todoke.work.perform import Performer

Finished = tuple[Call, Answer]


class Slots(Protocol):
    def start(self, calls: Sequence[Call]) -> None: ...
    def finished(self) -> list[Finished]: ...
    def withdraw(self) -> list[Call]:
        """Take back what no slot has begun yet."""
        ...

    def close(self) -> None: ...


class EventLoop:
    """One event loop in a thread of its own, started when first needed."""

    def __init__(self) -> None:
        self._inherited: list[asyncio.AbstractEventLoop | None] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._renew()
        after_fork(self, EventLoop._renew)

    def _renew(self) -> None:
        self._inherited.append(self._loop)
        self._loop = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def __call__(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run_and_close, args=[self._loop], name="todoke-loop", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(5)


def _run_and_close(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_cancel(asyncio.all_tasks(loop)))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def _cancel(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Answers:
    """Collects answers; wakes the worker at the first of a bunch and at the last.

    While the worker wakes up, quick neighbours finish, so that they are settled together.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._answers: deque[Finished] = deque()
        self._wake = wake

    def put(self, finished: Finished, *, last: bool) -> None:
        first = not self._answers
        self._answers.append(finished)
        if first or last:
            self._wake()

    def take(self) -> list[Finished]:
        return [self._answers.popleft() for _ in range(len(self._answers))]


class WorkerSlots:
    """Threads for `def` handlers and slot coroutines for `async def` ones."""

    def __init__(
        self,
        performer: Performer,
        loop: EventLoop,
        wake: Callable[[], None],
        *,
        threads: int,
        coroutines: int,
    ) -> None:
        self._performer, self._loop = performer, loop
        self._answers = Answers(wake)
        self._thread_limit, self._coroutine_limit = threads, coroutines
        self._for_threads: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._for_loop: deque[Call] = deque()
        self._threads: set[threading.Thread] = set()
        self._running: set[Call] = set()
        self._coroutines: set[asyncio.Task[None]] = set()

    def start(self, calls: Sequence[Call]) -> None:
        sync = [call for call in calls if not call.handler.is_async]
        for call in sync:
            self._for_threads.put(call)
        self._hire()
        if len(sync) < len(calls):
            self._for_loop.extend(call for call in calls if call.handler.is_async)
            self._loop().call_soon_threadsafe(self._fill)

    def finished(self) -> list[Finished]:
        return self._answers.take()

    def withdraw(self) -> list[Call]:
        calls = []
        with contextlib.suppress(queue.Empty):
            while (call := self._for_threads.get_nowait()) is not None:
                calls.append(call)
        with contextlib.suppress(IndexError):
            while True:
                calls.append(self._for_loop.popleft())
        return calls

    def close(self) -> None:
        for _ in list(self._threads):
            self._for_threads.put(None)

    def _hire(self) -> None:
        """A thread for each call that waits or runs, within the limit; hung ones are replaced."""
        running = list(self._running)
        hung = sum(call.given_up for call in running)
        wanted = len(running) - hung + self._for_threads.qsize()
        while len(self._threads) - hung < min(wanted, self._thread_limit):
            name = f"todoke-handler-{len(self._threads) + 1}"
            # Daemon: a handler that hangs for ever must not keep the process from ending.
            thread = threading.Thread(target=self._thread, name=name, daemon=True)
            self._threads.add(thread)
            thread.start()

    def _thread(self) -> None:
        while (call := self._for_threads.get()) is not None:
            self._running.add(call)
            answer = self._performer.perform(call)
            self._running.discard(call)
            self._answers.put((call, answer), last=self._for_threads.empty())
            if call.given_up:
                break  # another was hired in its place
        self._threads.discard(threading.current_thread())

    def _fill(self) -> None:
        for _ in range(min(len(self._for_loop), self._coroutine_limit - len(self._coroutines))):
            slot = asyncio.get_running_loop().create_task(self._slot())
            self._coroutines.add(slot)
            slot.add_done_callback(self._coroutines.discard)

    async def _slot(self) -> None:
        while call := self._next():
            answer = await self._performer.perform_async(call)
            self._answers.put((call, answer), last=not self._for_loop)

    def _next(self) -> Call | None:
        try:
            return self._for_loop.popleft()
        except IndexError:
            return None


class InlineSlots:
    """Runs each call at once, in the caller's thread: for `drain` and for tests."""

    def __init__(self, performer: Performer, loop: EventLoop) -> None:
        self._performer, self._loop = performer, loop
        self._answers: list[Finished] = []

    def start(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self._answers.append((call, self._run(call)))

    def finished(self) -> list[Finished]:
        answers, self._answers = self._answers, []
        return answers

    def withdraw(self) -> list[Call]:
        return []

    def close(self) -> None:
        pass

    def _run(self, call: Call) -> Answer:
        if not call.handler.is_async:
            return self._performer.perform(call)
        work = self._performer.perform_async(call)
        return asyncio.run_coroutine_threadsafe(work, self._loop()).result()
