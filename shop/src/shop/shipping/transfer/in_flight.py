"""Several requests on their way at once: a long line is kept full, and memory stays flat."""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

_MOST = 16


class InFlight:
    """`async with InFlight(patience) as flight:` returns once all requests are answered.

    Raises TimeoutError when not one of them is answered for so many seconds.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._waiting: set[asyncio.Task[None]] = set()

    async def send(self, request: Coroutine[Any, Any, None]) -> None:
        """Send it after those before it, as soon as few enough are on their way."""
        self._waiting.add(asyncio.ensure_future(request))
        while len(self._waiting) >= _MOST:
            await self._answer()

    async def _answer(self) -> None:
        answered, self._waiting = await asyncio.wait(
            self._waiting, timeout=self._patience, return_when=asyncio.FIRST_COMPLETED
        )
        if not answered:
            raise TimeoutError
        failures = [failed for request in answered if (failed := request.exception())]
        if failures:
            raise failures[0]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            while self._waiting and error is None:
                await self._answer()
        finally:
            for request in self._waiting:
                request.cancel()
            await asyncio.gather(*self._waiting, return_exceptions=True)
