"""Sends what was answered in the middle of an endpoint."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from todoke.app import Todoke
from todoke.database import of_driver
from todoke.fastapi.response import response_of
from todoke.telemetry import log
from todoke.web.answer import Answered
from todoke.web.failure import is_passing, unavailable


def install(web: Starlette, app: Todoke) -> None:
    """Let a FastAPI or Starlette application answer repeats; one that is mounted needs its own.

    A database that is away, or a deadlock, is answered with 503 where a request has a key: whoever
    asks again with it gets the one outcome.
    """

    async def send(request: Request, error: Exception) -> Response:
        assert isinstance(error, Answered)  # noqa: S101
        return response_of(error.answer)

    async def away(request: Request, error: Exception) -> Response:
        has_key = hasattr(request.state, "todoke_once")
        if not has_key or not is_passing(error, app.database):
            raise error
        log.warning("%s: answered with 503: %s", request.url.path, type(of_driver(error)).__name__)
        return response_of(unavailable())

    web.add_exception_handler(Answered, send)
    web.add_exception_handler(DBAPIError, away)
    web.add_exception_handler(NoConnection, away)
