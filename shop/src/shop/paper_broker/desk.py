"""Where orders are handed in."""

import asyncio
import os
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from shop.paper_broker.book import Book, KeyReused
from shop.paper_broker.script import Script, Step
from shop.paper_broker.traffic import Traffic

_DIED = 70


class Desk:
    """Takes orders into the book, unless the script wants something else to happen."""

    def __init__(self, book: Book) -> None:
        self.book, self.script, self.traffic = book, Script(), Traffic()

    async def serve(self, key: str, body: dict[str, Any], request: Request) -> Response:
        with self.traffic.passing(key):
            step = self.script.next()
            if (instead := await _before(step, request)) is not None:
                return instead
            answer = await run_in_threadpool(self._take, key, body)
            await _after(step, request)
            return answer

    def _take(self, key: str, body: dict[str, Any]) -> Response:
        try:
            return JSONResponse(self.book.take(key, body).receipt, 201)
        except KeyReused:
            return _no(409, "KEY_REUSED")


async def _before(step: Step, request: Request) -> Response | None:
    """What happens before the order is taken; an answer, where it ends with that."""
    match step.do:
        case "refuse":
            return _no(422, step.code or "REFUSED")
        case "fail":
            return _no(step.status, step.code, step.retry_after)
        case "babble":
            return Response("<p>It works!</p>", media_type="text/html")
        case "hang":
            await _gone(request)
            return _no(503)
        case "die":
            os._exit(_DIED)
        case "slow":
            await asyncio.sleep(step.seconds)
    return None


async def _after(step: Step, request: Request) -> None:
    """What happens after it is taken, and before anybody hears of it."""
    match step.do:
        case "take-and-hang":
            await _gone(request)
        case "take-and-die":
            os._exit(_DIED)


async def _gone(request: Request) -> None:
    """Wait until the client has lost patience."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _no(status: int, code: str | None = None, retry_after: str | None = None) -> Response:
    headers = {"Retry-After": retry_after} if retry_after else None
    return JSONResponse({"code": code} if code else {}, status, headers)
