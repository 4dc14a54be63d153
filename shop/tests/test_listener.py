"""Servers of the shop answer at once, also the second question on a line."""

import asyncio
import os
import socket
from collections.abc import Callable

import pytest

from shop.demo.ports import Port
from shop.listener import listener


def inherited() -> socket.socket:
    """As uvicorn takes a socket by its handle: it does not ask what kind it is."""
    port = Port(0)
    found = socket.fromfd(port.handle, socket.AF_UNIX, socket.SOCK_STREAM)
    port.leave()
    found.listen()
    return found


def by_port() -> socket.socket:
    return listener("127.0.0.1")


def by_handle() -> socket.socket:
    return listener("127.0.0.1", handle=socket.create_server(("127.0.0.1", 0)).detach())


@pytest.mark.parametrize("make", [by_port, by_handle, inherited])
async def test_no_answer_waits_for_more_to_say(make: Callable[[], socket.socket]) -> None:
    """OP-4"""
    delays: asyncio.Queue[int] = asyncio.Queue()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = writer.get_extra_info("socket")
        delays.put_nowait(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    bound = make()
    with socket.socket(fileno=os.dup(bound.fileno())) as same:
        at = same.getsockname()
    async with await asyncio.start_server(serve, sock=bound):
        _, writer = await asyncio.open_connection(*at)
        assert await delays.get() == 1
        writer.close()
