"""What a worker and its child processes say to each other: JSON, each message after its length."""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

TURN = 0.1
"""Seconds of waiting after which one looks up: was it cancelled, is the other side alive?"""
LONGEST = 64 * 1024 * 1024
"""Bytes of one message; a child must not fill its worker's memory."""

_LENGTH = struct.Struct("!I")
_PIECE = 256 * 1024


class Closed(Exception):
    """The other side is gone, or does not listen any more."""


class Nonsense(Exception):
    """What came is no message of ours."""


class TooLong(ValueError):
    """A message is longer than LONGEST."""


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt, as it is sent to a child."""

    module: str
    qualname: str
    argument: str | None
    """As JSON text; None where the function takes no argument."""
    run_parameter: str | None
    """Which parameter takes the Run, if any does."""
    number: int
    idempotency_key: str
    job_id: str
    job_name: str
    max_bytes: int = LONGEST
    """Of its result, as text."""


@dataclass(frozen=True, slots=True)
class Progress:
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line for the log, with the fields that were given along with it."""

    level: int
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


Told: TypeAlias = Progress | Metric | Line
"""What a child tells while it works."""


class Wire:
    """One end. Any thread may send; one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._socket, self._sending = end, threading.Lock()
        self._received = bytearray()

    def send(
        self, message: Mapping[str, Any], *, while_waiting: Callable[[], None] = lambda: None
    ) -> None:
        """Send all of it; where the other side is slow, the callable may raise to give up."""
        body = json.dumps(message, ensure_ascii=False, allow_nan=False).encode(
            "utf-8", "surrogatepass"
        )
        if len(body) > LONGEST:
            raise TooLong(f"{len(body):,} bytes, the limit is {LONGEST:,}")
        with self._sending:
            self._send(memoryview(_LENGTH.pack(len(body)) + body), while_waiting)

    def receive(self, seconds: float | None) -> dict[str, Any] | None:
        """The next message; None when no more of it came for so long."""
        while (message := self._whole()) is None:
            if not self._is_ready(select.POLLIN, seconds):
                return None
            self._received += self._next_piece()
        return message

    def close(self) -> None:
        self._socket.close()

    def _send(self, rest: memoryview, while_waiting: Callable[[], None]) -> None:
        try:
            while rest:
                if not self._is_ready(select.POLLOUT, TURN):
                    while_waiting()
                    continue
                rest = rest[self._send_some(rest) :]
        except OSError as error:
            raise Closed from error

    def _send_some(self, rest: memoryview) -> int:
        try:
            return self._socket.send(rest[:_PIECE], socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def _next_piece(self) -> bytes:
        try:
            piece = self._socket.recv(_PIECE)
        except OSError as error:
            raise Closed from error
        if not piece:
            raise Closed
        return piece

    def _is_ready(self, event: int, seconds: float | None) -> bool:
        # No timeout of the socket's own: it would hold for the other thread's call as well.
        waiting = select.poll()
        try:
            waiting.register(self._socket, event)
        except ValueError:  # closed on this side, by another thread or after a fork
            raise Closed from None
        return bool(waiting.poll(None if seconds is None else 1000 * seconds))

    def _whole(self) -> dict[str, Any] | None:
        """The first message, taken off, if all of it is there."""
        if len(self._received) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._received)
        if length > LONGEST:
            raise Nonsense(f"a message of {length:,} bytes, the limit is {LONGEST:,}")
        end = _LENGTH.size + length
        if len(self._received) < end:
            return None
        body = self._received[_LENGTH.size : end]
        del self._received[:end]
        return _read(body)


def _read(body: bytearray) -> dict[str, Any]:
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise Nonsense(str(error)) from error
    if not isinstance(message, dict):
        raise Nonsense(f"expected an object, got {type(message).__name__}")
    return message
