"""One child process, as its worker holds it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from todoke.jobs.wire import TURN, Closed, Wire

# The path first: whatever the child imports, it finds where its worker found it.
_PROGRAM = "import sys; sys.path[:] = sys.argv[3:]; from todoke.jobs.child import main; main()"
_LAST_BREATH = 1.0
"""Seconds between the end of what a process has open and its own end, at most."""


class Lost(Exception):
    """The process is of no use any more; the text says how it ended."""


class ChildProcess:
    """A fresh interpreter, never a fork, in a session of its own: Ctrl-C reaches only the worker.

    Of its two connections one carries messages; the other carries nothing, and its closing ends
    the child. What jobs print goes where the worker's errors go.
    """

    def __init__(self, environment: Mapping[str, str] | None) -> None:
        wire, their_wire = socket.socketpair()
        self._tether, their_tether = socket.socketpair()
        self._wire = Wire(wire)
        theirs = [their_wire.fileno(), their_tether.fileno()]
        with their_wire, their_tether:
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    [sys.executable, "-c", _PROGRAM, *map(str, theirs), *map(str, sys.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=2,
                    pass_fds=theirs,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                self._close()
                raise Lost(f"could not be started: {error}") from error
        self.pid: int = self._process.pid
        self.is_warm = False
        """It has run something before."""
        self.is_resting = True
        """It runs nothing now, and could be given something."""

    @property
    def is_dead(self) -> bool:
        return self._process.poll() is not None

    def send(self, message: Mapping[str, Any], check: Callable[[], None]) -> None:
        def look_up() -> None:
            check()
            if self.is_dead:
                raise Closed

        try:
            self._wire.send(message, while_waiting=look_up)
        except Closed:
            raise self._lost() from None

    def receive(self, check: Callable[[], None]) -> dict[str, Any]:
        """The next message; raises Lost when there will be none."""
        while True:
            # Asked before listening: what it said before it died is heard. Its end closes nothing
            # where a job has left a process behind that holds the connection.
            was_dead = self.is_dead
            try:
                message = self._wire.receive(0 if was_dead else TURN)
            except Closed:
                raise self._lost() from None
            if message is not None:
                return message
            if was_dead:
                raise self._lost()
            check()

    def ask_to_end(self) -> None:
        """It has until `finish` is called; one that does not even listen will be killed."""

        def at_once() -> None:
            raise Closed

        with suppress(Closed):
            self._wire.send({"kind": "end"}, while_waiting=at_once)

    def finish(self, seconds: float) -> None:
        """Wait so long for its end, then end it, with whatever it has started."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._close()

    def forget(self) -> None:
        """In a fork of the worker: it is not ours, and our copies must not keep it alive."""
        self._close()
        self._process.returncode = 0  # or its destructor would wait for another's child

    def _lost(self) -> Lost:
        try:
            return Lost(_words(self._process.wait(_LAST_BREATH)))
        except subprocess.TimeoutExpired:
            return Lost("closed its connection to the worker")

    def _close(self) -> None:
        self._wire.close()
        self._tether.close()


def _words(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {_signal_name(-code)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
