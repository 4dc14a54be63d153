"""What ties a worker process to its supervisor: a socket that closes when either of them dies.

Over it a child also says why it refuses to work, so that the supervisor can say it once for all.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import suppress

REPLACE = 75
"""Exit code: start another in my place (a handler hangs in me)."""
REFUSED = 78
"""Exit code: nothing will help but a person."""

_LONGEST = 65536


class Tether:
    """The child's end."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        # Whatever a handler starts must not hold our end.
        self._socket.set_inheritable(False)
        self.patience: float = 10.0

    def watch(self) -> None:
        """From now on, end when the supervisor does."""
        threading.Thread(target=self._end_with_it, name="todoke-tether", daemon=True).start()

    def refuse(self, why: str) -> None:
        with suppress(OSError):
            self._socket.sendall(why.encode()[:_LONGEST])

    def _end_with_it(self) -> None:
        with suppress(OSError):
            while self._socket.recv(1024):
                pass
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(self.patience)
        os._exit(1)


def last_words(end: socket.socket) -> str:
    """What a child that has ended said over its tether."""
    end.settimeout(1.0)
    words = b""
    with suppress(OSError):
        while part := end.recv(_LONGEST):
            words += part
    return words.decode(errors="replace")
