"""A terminal for commands that behave otherwise when a person looks."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from contextlib import suppress

from tests.cli.project import COMMAND, environment


def on_a_terminal(*arguments: str, answer: str = "", width: int = 80) -> tuple[int, str]:
    """Exit code and screen of a command, to which a person may have answered something."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment(), "TERM": "xterm-256color"},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        os.write(ours, answer.encode())
        screen = _read_all(ours)
    os.close(ours)
    return process.returncode, screen


def _read_all(descriptor: int) -> str:
    screen = b""
    # A terminal whose last program has ended answers with an error on Linux.
    with suppress(OSError):
        while part := os.read(descriptor, 4096):
            screen += part
    return screen.decode().replace("\r\n", "\n")
