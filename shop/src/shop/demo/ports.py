"""The ports of the demo, held from the moment they are chosen until a child listens there."""

import socket
from argparse import Namespace
from dataclasses import dataclass
from typing import Self

from shop.listener import without_delay


class Port:
    """A port that nobody else can take, since it is bound before anybody is told of it."""

    def __init__(self, wanted: int) -> None:
        self._socket = _bound(wanted)
        self.number = int(self._socket.getsockname()[1])

    @property
    def handle(self) -> int:
        return self._socket.fileno()

    def leave(self) -> None:
        """To the child that has inherited it, so that the port ends with the child."""
        self._socket.close()


@dataclass(frozen=True)
class Ports:
    web: Port
    mail: Port
    smtp: Port
    broker: Port

    @classmethod
    def free(cls, wanted: Namespace) -> Self:
        """The wanted ports, or any other where one is taken."""
        return cls(
            Port(wanted.web_port),
            Port(wanted.mail_port),
            Port(wanted.smtp_port),
            Port(wanted.broker_port),
        )


def _bound(wanted: int) -> socket.socket:
    for port in (wanted, 0):
        candidate = socket.socket()
        # As servers do, so that a port just left counts as free.
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind(("127.0.0.1", port))
        except OSError:
            candidate.close()
        else:
            return without_delay(candidate)
    raise OSError("this machine has no free port")
