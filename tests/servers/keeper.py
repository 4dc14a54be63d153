"""Our side of `keeper_process.py`: orders in, answers out."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.servers import keeper_process


class KeeperFailed(Exception):
    """The server did not do as it was told; the message ends with its log."""


class Keeper:
    """Starts and stops one server, and outlives us just long enough to clean up."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process = subprocess.Popen(
            [sys.executable, keeper_process.__file__, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # Ctrl-C goes to every process of the terminal's group, and this one must not hear it.
            start_new_session=True,
        )

    def run(self, command: Sequence[str], account: Mapping[str, object]) -> None:
        """Runs a program to its end, in the server's directory."""
        self._order(f"run {json.dumps({'command': list(command), 'account': dict(account)})}")

    def start(self, command: Sequence[str], ready: str, account: Mapping[str, object]) -> None:
        """Starts the server; returns when its log holds the `ready` words."""
        details = {"command": list(command), "ready": ready, "account": dict(account)}
        self._order(f"start {json.dumps(details)}")

    def stop(self, with_signal: signal.Signals) -> None:
        """Stops the server; returns when its process is gone."""
        self._order(with_signal.name)

    def close(self) -> None:
        """Stops the server at once and removes its directory."""
        self._process.communicate()

    def _order(self, order: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{order}\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if answer == "failed\n":
            raise KeeperFailed(f"the log ends with: {self._last_words()}")
        if answer != "done\n":
            raise KeeperFailed(f"the keeper died: {answer}{self._process.stdout.read()}")

    def _last_words(self) -> str:
        log = self._directory / keeper_process.LOG
        return " / ".join(log.read_text().splitlines()[-5:])
