"""A line to a server that breaks when a test says so: a TCP proxy with faults."""

from __future__ import annotations

import asyncio
import re
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import Coroutine
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import make_url

from todoke.duration import Duration, seconds
from todoke.work.slots import EventLoop

T = TypeVar("T")

_PIECE = 65536
_AT_ONCE = struct.pack("ii", 1, 0)
"""Close without a farewell: the other side is told that the connection was reset."""


class FaultyLine:
    """`with FaultyLine("127.0.0.1", 5432) as line:` leads there by way of `line.port`.

    A fault holds for all connections, old and new, until `heal`. A lost reply is lost once.
    """

    def __init__(self, host: str, port: int) -> None:
        self._there = (host, port)
        self._loop = EventLoop()
        self._calls: set[_Call] = set()
        self._is_cut, self._pause = False, 0.0
        self._to_lose: re.Pattern[bytes] | None = None
        self._flows: asyncio.Event
        self.host: str = "127.0.0.1"
        self.port: int = 0
        self.lost = 0
        """Replies that were lost so far."""

    @classmethod
    def to(cls, url: str) -> FaultyLine:
        """A line to the server of this address."""
        address = make_url(url)
        ports = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306}
        usual = ports.get(address.get_backend_name(), 0)
        return cls(address.host or "127.0.0.1", address.port or usual)

    def url(self, url: str) -> str:
        """The same address, by way of this line."""
        mine = make_url(url).set(host=self.host, port=self.port)
        return mine.render_as_string(hide_password=False)

    def __enter__(self) -> FaultyLine:
        self._do(self._open())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._do(self._close())
        self._loop.close()

    # --- faults ------------------------------------------------------------------------------

    def cut(self) -> None:
        """Reset every connection, and each that is tried from now on."""
        self._do(self._cut())

    def hang(self) -> None:
        """Let nothing through, and tell nobody; what was sent meanwhile arrives after `heal`."""
        self._do(self._hang())

    def delay(self, by: Duration) -> None:
        """Let each request arrive so much later."""
        self._pause = seconds(by, "delay")

    def lose_reply(self, to: str = "") -> None:
        """The next request with these words is answered, and the answer lost with its connection.

        So `lose_reply("COMMIT")` is a commit that was done, and nobody knows.
        """
        # Two letters before it make it another word, AUTOCOMMIT; one may be the request's length.
        words = rb"(?<![a-z_]{2})" + re.escape(to.encode()) + rb"(?![a-z_])"
        self._to_lose = re.compile(words if to else b"", re.IGNORECASE)

    def heal(self) -> None:
        """Be a good line again."""
        self._do(self._heal())

    # --- on the event loop -------------------------------------------------------------------

    async def _open(self) -> None:
        self._flows = asyncio.Event()
        self._flows.set()
        self._server = await asyncio.start_server(self._connect, self.host, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        await self._cut()

    async def _cut(self) -> None:
        self._is_cut = True
        for call in list(self._calls):
            call.reset()

    async def _hang(self) -> None:
        self._flows.clear()

    async def _heal(self) -> None:
        self._is_cut, self._pause, self._to_lose = False, 0.0, None
        self._flows.set()

    async def _connect(self, reader: StreamReader, writer: StreamWriter) -> None:
        if self._is_cut:
            _reset(writer)
            return
        try:
            there, back = await asyncio.open_connection(*self._there)
        except OSError:
            _reset(writer)
            return
        call = _Call(self, (reader, writer), (there, back))
        self._calls.add(call)
        try:
            await call.run()
        finally:
            self._calls.discard(call)

    async def let_pass(self, request: bool) -> None:
        if request and self._pause:
            await asyncio.sleep(self._pause)
        await self._flows.wait()

    def loses_reply_to(self, request: bytes) -> bool:
        if self._to_lose is None or not self._to_lose.search(request):
            return False
        self._to_lose = None
        return True

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop()).result()


class _Call:
    """One connection through the line."""

    def __init__(
        self,
        line: FaultyLine,
        client: tuple[StreamReader, StreamWriter],
        server: tuple[StreamReader, StreamWriter],
    ) -> None:
        self._line, self._client, self._server = line, client, server
        self._reply_is_lost = False

    async def run(self) -> None:
        ways = [asyncio.ensure_future(way) for way in (self._forth(), self._back())]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for _, writer in (self._client, self._server):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def reset(self) -> None:
        for _, writer in (self._client, self._server):
            _reset(writer)

    async def _forth(self) -> None:
        reader, writer = self._client[0], self._server[1]
        while piece := await reader.read(_PIECE):
            await self._line.let_pass(request=True)
            self._reply_is_lost |= self._line.loses_reply_to(piece)
            writer.write(piece)
            await writer.drain()

    async def _back(self) -> None:
        reader, writer = self._server[0], self._client[1]
        while piece := await reader.read(_PIECE):
            await self._line.let_pass(request=False)
            if self._reply_is_lost:
                self._line.lost += 1
                self.reset()
                return
            writer.write(piece)
            await writer.drain()


def _reset(writer: StreamWriter) -> None:
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, _AT_ONCE)
    writer.transport.abort()
