import socket
from argparse import Namespace
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Ports:
    web: int
    mail: int
    smtp: int
    broker: int

    @classmethod
    def free(cls, wanted: Namespace) -> Self:
        """The wanted ports, or any other where one is taken."""
        return cls(
            _free(wanted.web_port),
            _free(wanted.mail_port),
            _free(wanted.smtp_port),
            _free(wanted.broker_port),
        )


def _free(wanted: int) -> int:
    for port in (wanted, 0):
        with socket.socket() as probe:
            # As servers do, so that a port just left counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("this machine has no free port")
