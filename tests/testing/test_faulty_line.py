"""A line that breaks when a test says so."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from time import monotonic

import pytest

from tests.waiting import until
from todoke.testing import FaultyLine


class Echo(BaseRequestHandler):
    """Answers what it was asked, and keeps it."""

    heard: list[bytes]

    def handle(self) -> None:
        with suppress(ConnectionError):
            while asked := self.request.recv(1024):
                self.heard.append(asked)
                self.request.sendall(asked.upper())


@pytest.fixture
def heard() -> list[bytes]:
    return []


@pytest.fixture
def line(heard: list[bytes]) -> Iterator[FaultyLine]:
    kind = type("Kept", (Echo,), {"heard": heard})
    with ThreadingTCPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        with FaultyLine("127.0.0.1", server.server_address[1]) as line:
            yield line
        server.shutdown()
        thread.join()


def connect(line: FaultyLine, timeout: float = 10) -> socket.socket:
    return socket.create_connection((line.host, line.port), timeout)


def ask(connection: socket.socket, what: bytes) -> bytes:
    connection.sendall(what)
    return connection.recv(1024)


def test_a_good_line_lets_everything_through(line: FaultyLine) -> None:
    """TS-2"""
    with connect(line) as one, connect(line) as other:
        assert ask(one, b"one") == b"ONE"
        assert ask(other, b"other") == b"OTHER"


def test_a_cut_line_resets_old_and_new_connections_until_it_is_healed(line: FaultyLine) -> None:
    """TS-2"""
    with connect(line) as old:
        assert ask(old, b"a") == b"A"
        line.cut()
        with pytest.raises(ConnectionResetError):
            old.recv(1024)
    with pytest.raises(ConnectionResetError), connect(line) as new:
        ask(new, b"b")
    line.heal()
    with connect(line) as healed:
        assert ask(healed, b"c") == b"C"


def test_on_a_hanging_line_nothing_arrives_before_it_is_healed(
    line: FaultyLine, heard: list[bytes]
) -> None:
    """TS-2"""
    with connect(line, 0.1) as connection:
        assert ask(connection, b"a") == b"A"
        line.hang()
        with pytest.raises(TimeoutError):
            ask(connection, b"b")
        assert heard == [b"a"]
        line.heal()
        connection.settimeout(10)
        assert connection.recv(1024) == b"B"


def test_a_slow_line_takes_its_time(line: FaultyLine) -> None:
    """TS-2"""
    with connect(line) as connection:
        line.delay("100ms")
        began = monotonic()
        assert ask(connection, b"a") == b"A"
        assert monotonic() - began >= 0.1
        line.heal()


def test_a_lost_reply_is_to_a_request_that_was_heard(line: FaultyLine, heard: list[bytes]) -> None:
    """TS-2: once; other requests are answered"""
    with connect(line) as connection:
        line.lose_reply("COMMIT")
        assert ask(connection, b"set autocommit") == b"SET AUTOCOMMIT"
        with pytest.raises(ConnectionResetError):
            ask(connection, b"commit")
    assert heard == [b"set autocommit", b"commit"]
    with connect(line) as connection:
        assert ask(connection, b"commit") == b"COMMIT"


def test_a_server_that_is_away_is_away_through_the_line() -> None:
    """TS-2"""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with FaultyLine("127.0.0.1", port) as line:
        with pytest.raises(ConnectionResetError), connect(line) as connection:
            connection.recv(1024)
        line.hang()  # and leaving it in a fault is no harm


def test_a_closed_line_leaves_no_thread_behind(line: FaultyLine) -> None:
    """TS-2"""
    before = threading.active_count()
    with FaultyLine("127.0.0.1", line.port) as second, connect(second) as connection:
        assert ask(connection, b"a") == b"A"
        second.hang()
    until(lambda: threading.active_count() <= before)
    with pytest.raises(ConnectionRefusedError):
        connect(second)


def test_an_address_leads_through_the_line(line: FaultyLine) -> None:
    """TS-2"""
    url = "postgresql+psycopg://me:secret@db.example/shop?connect_timeout=3"
    assert line.url(url) == (
        f"postgresql+psycopg://me:secret@127.0.0.1:{line.port}/shop?connect_timeout=3"
    )
