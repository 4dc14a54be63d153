"""A line to a server that breaks after so many bytes."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from typing import Self


class BudgetLine:
    """A line that counts what is sent to the server, and breaks after so many bytes."""

    def __init__(self, port: int, budget: int = 1 << 40) -> None:
        self._there, self._budget = port, budget
        self._calls: list[asyncio.Future[None]] = []
        self.sent = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()
        await asyncio.gather(*self._calls)

    def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._calls.append(asyncio.ensure_future(self._carry(reader, writer)))

    async def _carry(self, reader: StreamReader, writer: StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._there)
        forth = asyncio.ensure_future(self._forth(reader, back))
        ways = {forth, asyncio.ensure_future(_pump(there, writer))}
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for one in (writer, back):
            one.transport.abort()
        await asyncio.gather(*ways, return_exceptions=True)

    async def _forth(self, reader: StreamReader, writer: StreamWriter) -> None:
        while piece := await reader.read(min(65536, self._budget - self.sent)):
            self.sent += len(piece)
            writer.write(piece)
            await writer.drain()


async def _pump(reader: StreamReader, writer: StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
