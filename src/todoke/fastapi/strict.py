"""Routes that read JSON strictly, where FastAPI's own take duplicate keys, NaN and UTF-16."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from todoke import codec
from todoke.fastapi.response import response_of
from todoke.web.answer import Answered
from todoke.web.body import is_json, read_json, too_large


class StrictRoute(APIRoute):
    """`APIRouter(route_class=StrictRoute)`: what is no strict JSON is answered with 400 and why.

    Derive a class with another `max_bytes` for larger bodies; what is larger is answered with 413.
    """

    max_bytes: int = codec.MAX_BYTES

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            try:
                if self.body_field is not None and is_json(request.headers.get("content-type")):
                    await strict.read(self.max_bytes)
            except Answered as error:
                return response_of(error.answer)
            return await handle(strict)

        return strictly


class _StrictRequest(Request):
    """Read once, before FastAPI asks for it."""

    async def read(self, limit: int) -> None:
        pieces, size = [], 0
        async for piece in self.stream():
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise too_large(limit)
        self._body = b"".join(pieces)
        if self._body:
            self._json = read_json(self._body, self.headers.get("content-type"))
