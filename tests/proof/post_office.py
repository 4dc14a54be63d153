"""A real SMTP server in a process of its own, which can go away and come back at its address.

Run as `python -m tests.proof.post_office PORT FILE`: each mail's Message-ID becomes a line.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from email import message_from_bytes
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.servers.place import free_port
from tests.waiting import until

ROOT = Path(__file__).parents[2]


class PostOffice:
    """Comes and goes as the test likes; when it goes, no mail is half taken."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "mails"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def come_back(self) -> None:
        command = [sys.executable, "-m", "tests.proof.post_office", str(self.port), str(self._file)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE)
        until(self._answers, 30)

    def go_away(self) -> None:
        """From now on connections are refused, and those that were open are broken."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def taken(self) -> Counter[str]:
        """How often each mail came."""
        return Counter(self._file.read_text().split())

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as line:
            return line.recv(3) == b"220"
        return False


class Clerk:
    """Notes a mail down before it says that the mail was taken."""

    def __init__(self, file: str) -> None:
        self._lines = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    async def handle_DATA(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        content: Any = envelope.content
        os.write(self._lines, f"{message_from_bytes(content)['Message-ID']}\n".encode())
        return "250 taken"


def main(port: str, file: str) -> None:
    controller = Controller(Clerk(file), hostname="127.0.0.1", port=int(port))
    controller.start()
    # A test that died leaves nobody at the other end; then this ends too.
    sys.stdin.read()
    controller.stop()


if __name__ == "__main__":
    main(*sys.argv[1:3])
