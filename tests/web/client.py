"""A web application that is really started and stopped, and asked over HTTP without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette


@asynccontextmanager
async def running(web: Starlette) -> AsyncIterator[AsyncClient]:
    """Between its start and its end, as a server would run it."""
    async with (
        web.router.lifespan_context(web),
        AsyncClient(transport=ASGITransport(web), base_url="http://shop") as client,
    ):
        yield client
