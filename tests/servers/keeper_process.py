"""Keeps a server alive for a process that may itself die at any moment.

    python keeper_process.py DIRECTORY

Reads orders, one per line: `run` a program to its end, `start` the server (both followed by JSON),
or the name of a signal to stop the server with. Answers each with a line, `done` or `failed`. When
the orders end, whatever the reason, the server is stopped at once and the directory removed.

The orders come through a pipe, which the kernel closes when the other side dies, even by SIGKILL,
where no cleanup of its own could run. A forked child may hold the pipe open for longer, so the
parent's id is watched too. A death signal (prctl) would be shorter, but only Linux has it, and it
fires as soon as the thread that started the server ends.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOG = "server.log"
PATIENCE_SECONDS = 60


class Server:
    """At most one process, and the log that tells when it is ready."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._process: subprocess.Popen[str] | None = None

    def run(self, command: list[str], account: dict[str, Any]) -> bool:
        with (self.directory / LOG).open("a") as log:
            finished = subprocess.run(
                command,
                check=False,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=PATIENCE_SECONDS,
                **account,
            )
        return finished.returncode == 0

    def start(self, command: list[str], ready: str, account: dict[str, Any]) -> bool:
        self._process = subprocess.Popen(
            command,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            **account,
        )
        answered = threading.Event()
        log = threading.Thread(target=self._keep_log, args=[self._process, ready, answered])
        log.start()
        return answered.wait(PATIENCE_SECONDS) and self._process.poll() is None

    def stop(self, with_signal: signal.Signals) -> bool:
        if self._process is not None:
            self._process.send_signal(with_signal)
            try:
                self._process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        return True

    def _keep_log(
        self, process: subprocess.Popen[str], ready: str, answered: threading.Event
    ) -> None:
        assert process.stderr is not None
        with (self.directory / LOG).open("a") as log:
            for line in process.stderr:
                log.write(line)
                log.flush()
                if ready in line:
                    answered.set()
        process.wait()
        answered.set()


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    server = Server(Path(sys.argv[1]))
    try:
        for order in orders(parent=os.getppid()):
            answer = b"done\n" if obey(server, order) else b"failed\n"
            os.write(sys.stdout.fileno(), answer)
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(server.directory, ignore_errors=True)


def obey(server: Server, order: str) -> bool:
    word, _, details = order.partition(" ")
    match word:
        case "run":
            return server.run(**json.loads(details))
        case "start":
            return server.start(**json.loads(details))
        case _:
            return server.stop(signal.Signals[word])


def orders(parent: int) -> Iterator[str]:
    pipe = sys.stdin.fileno()
    unfinished = b""
    while os.getppid() == parent:
        readable, _, _ = select.select([pipe], [], [], 1)
        if not readable:
            continue
        received = os.read(pipe, 4096)
        if not received:
            return
        *lines, unfinished = (unfinished + received).split(b"\n")
        yield from (line.decode() for line in lines)


if __name__ == "__main__":
    main()
