"""Sockets that servers listen at, and whose connections answer without delay."""

import socket


def listener(host: str, port: int = 0, handle: int | None = None) -> socket.socket:
    """Bound to the port (0 takes any that is free), or the one that was inherited by its handle."""
    return without_delay(
        socket.create_server((host, port)) if handle is None else socket.socket(fileno=handle)
    )


def without_delay(bound: socket.socket) -> socket.socket:
    """Connections inherit it. Nagle's wait costs every answer but the first 40 ms.

    For a socket that it was given, asyncio does not see that it speaks TCP, and leaves the wait on.
    """
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound
