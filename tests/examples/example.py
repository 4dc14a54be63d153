"""A copy of an example in a folder of its own, run as its README says."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
from httpx import Client

from tests.cli.project import environment
from tests.house.sources import ROOT
from tests.waiting import until


class Example:
    """One folder of examples/, where nothing of ours lies but what is installed."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder / name
        shutil.copytree(ROOT / "examples" / name, self.folder)
        self._environment = {
            key: value for key, value in environment().items() if not key.startswith("TODOKE_")
        }

    def set(self, name: str, value: str) -> None:
        self._environment[name] = value

    def find_modules_in(self, folder: Path) -> None:
        self._environment["PYTHONPATH"] += f"{os.pathsep}{folder}"

    def run(self, *arguments: str, input: str | None = None, ends_with: int = 0) -> str:
        """A command to its end; answers what it has said."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            input=input,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == ends_with, done.stdout
        return done.stdout

    @contextmanager
    def running(self, *arguments: str, ends_with: Sequence[int] = (0,)) -> Iterator[None]:
        """A command beside the test, which ends in order when it is asked to."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment,
            start_new_session=True,
        )
        try:
            yield
            assert process.poll() is None, f"{arguments} ended by itself"
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) in ends_with
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()


@contextmanager
def client(port: int) -> Iterator[Client]:
    """Asks the server at this port, once it answers."""
    with Client(base_url=f"http://127.0.0.1:{port}") as client:
        until(lambda: _answers(client), 30)
        yield client


def _answers(client: Client) -> bool:
    with suppress(httpx.TransportError):
        return client.get("/").status_code > 0
    return False
