"""An application inside a web process: checked when it starts, let go of when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from todoke.databases import schema
from todoke.runtime import Runtime
from todoke.telemetry import log
from todoke.work.process import Process

if TYPE_CHECKING:
    from todoke.app import Todoke


@asynccontextmanager
async def publishing(app: Todoke) -> AsyncIterator[None]:
    """For a process that publishes and never runs."""
    try:
        await asyncio.to_thread(_check, app)
        yield
    finally:
        await _let_go(app)


@asynccontextmanager
async def working(app: Todoke) -> AsyncIterator[None]:
    """For a process that runs handlers as well, beside what it serves."""
    process = None
    try:
        process = await asyncio.to_thread(_start, app)
        yield
    finally:
        await _let_go(app, process)


def _check(app: Todoke) -> None:
    _ = app.handlers  # refuses what could not run
    with app.engine.begin() as connection:
        schema.check(connection, app.database)


def _start(app: Todoke) -> Process:
    runtime = Runtime(app)
    runtime.check()
    return runtime.start()


async def _let_go(app: Todoke, process: Process | None = None) -> None:
    await app.engines.leave_this_loop()
    # In one thread, which runs to its end even where this task is cancelled.
    await asyncio.to_thread(_stop, app, process)


def _stop(app: Todoke, process: Process | None) -> None:
    try:
        if process is not None and process.stop(_patience(app)).handed_back:
            log.warning("what still ran when the web process ended was handed back")
    finally:
        app.close()


def _patience(app: Todoke) -> float:
    return app.settings.seconds("worker.drain_timeout")
