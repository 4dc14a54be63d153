"""No request may be larger than it needs to be."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Counts what arrives, whatever Content-Length says, and stops reading at the limit."""

    def __init__(self, app: ASGIApp, limit: int = 256 * 1024) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        counted = self._counted(receive) if scope["type"] == "http" else receive
        await self._app(scope, counted, send)

    def _counted(self, receive: Receive) -> Receive:
        total = 0

        async def receive_some() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self._limit:
                raise HTTPException(413, f"The body has more than {self._limit:,} bytes.")
            return message

        return receive_some
