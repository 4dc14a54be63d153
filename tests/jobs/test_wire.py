"""Messages between a worker and its child processes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from todoke.jobs import wire as wire_module
from todoke.jobs.wire import Closed, Nonsense, TooLong, Wire

SHORT = 0.01


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Wire(ours), theirs


def test_what_is_sent_arrives(ends: tuple[Wire, socket.socket]) -> None:
    wire, other = ends
    wire.send({"text": "届け \ud800 \n", "number": 1.5})
    wire.send({})
    far = Wire(other)
    assert far.receive(None) == {"text": "届け \ud800 \n", "number": 1.5}
    assert far.receive(None) == {}
    assert far.receive(SHORT) is None


def test_a_message_in_pieces(ends: tuple[Wire, socket.socket]) -> None:
    wire, other = ends
    for piece in (b"\0\0", b'\0\x07{"a"', b":"):
        other.sendall(piece)
        assert wire.receive(SHORT) is None
    other.sendall(b"1}\0")
    assert wire.receive(None) == {"a": 1}


def test_a_large_message_waits_for_its_reader(ends: tuple[Wire, socket.socket]) -> None:
    wire, other = ends
    large = {"text": "x" * 5_000_000}
    sender = threading.Thread(target=wire.send, args=(large,))
    sender.start()
    assert Wire(other).receive(None) == large
    sender.join()


def test_waiting_for_a_reader_can_be_given_up(ends: tuple[Wire, socket.socket]) -> None:
    def give_up() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        ends[0].send({"text": "x" * 5_000_000}, while_waiting=give_up)


def test_what_is_too_long_is_not_sent(
    ends: tuple[Wire, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    wire, other = ends
    monkeypatch.setattr(wire_module, "LONGEST", 10)
    with pytest.raises(TooLong, match="12 bytes, the limit is 10"):
        wire.send({"a": "xxx"})
    assert Wire(other).receive(SHORT) is None


@pytest.mark.parametrize(
    "sent", [b"\xff\xff\xff\xff", b"\0\0\0\x01[", b"\0\0\0\x02[]", b"\0\0\0\x01\xff"]
)
def test_what_is_no_message_is_refused(ends: tuple[Wire, socket.socket], sent: bytes) -> None:
    wire, other = ends
    other.sendall(sent)
    with pytest.raises(Nonsense):
        wire.receive(None)


def test_the_other_side_is_gone(ends: tuple[Wire, socket.socket]) -> None:
    wire, other = ends
    other.close()
    with pytest.raises(Closed):
        wire.receive(None)
    with pytest.raises(Closed):
        wire.send({})


def test_this_side_is_closed(ends: tuple[Wire, socket.socket]) -> None:
    wire, _ = ends
    wire.close()
    with pytest.raises(Closed):
        wire.receive(None)
    with pytest.raises(Closed):
        wire.send({})
