"""A project folder with an application in it, and the ways to run `todoke` there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from tests.cli.parcels import build
from tests.house.sources import ROOT
from tests.waiting import until
from todoke import Event, Todoke
from todoke.cli import commands
from todoke.cli.reach import reading
from todoke.operate import EventRecord

MODULE = "parcels_app"
APP = f"{MODULE}:app"
SOURCE = "from tests.cli.parcels import build\n\napp = build()\n"
COMMAND = (sys.executable, "-m", "todoke")


class Project:
    """The current directory of a test; `app` looks at the same database as the commands."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.app: Todoke = build(url)
        self.write(SOURCE)

    def write(self, source: str) -> None:
        (self.folder / f"{MODULE}.py").write_text(source, encoding="utf-8")

    def run(self, *arguments: object, input: str | None = None) -> Result:
        """A command in this process, its application imported anew."""
        sys.modules.pop(MODULE, None)
        result = CliRunner().invoke(commands, [str(one) for one in arguments], input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def ask(self, *arguments: object) -> Any:
        """The JSON that a command answers."""
        result = self.run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def alone(self, *arguments: str) -> str:
        """What a command says in a process of its own, where no other test imported anything."""
        command = [*COMMAND, *arguments]
        ended = subprocess.run(
            command, check=True, cwd=self.folder, env=environment(), capture_output=True, text=True
        )
        return ended.stdout

    @contextmanager
    def worker(self, *arguments: str) -> Iterator[WorkerCommand]:
        """`todoke worker` as a process of its own, gone at the end."""
        command = WorkerCommand(self.folder, ["worker", *arguments])
        try:
            yield command
        finally:
            command.kill()
            # Shown where a test fails.
            print(command.out, command.err, sep="")

    def publish(self, *events: Event) -> None:
        with self.app.session() as session:
            self.app.publish_all(session, events)

    def events(self, **filters: Any) -> Sequence[EventRecord]:
        with reading(self.app) as connection:
            return self.app.events.list(connection, **filters)

    def has(self, status: str, count: int = 1) -> bool:
        return len(self.events(status=status)) == count

    def workers(self) -> set[int]:
        """The process ids of the workers that are registered."""
        with reading(self.app) as connection:
            found = self.app.events.status(connection).workers
        return {int(one["name"].rpartition(":")[2]) for one in found}


class WorkerCommand:
    """A running `todoke worker`, its words in files."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        self._out, self._err = folder / "worker.out", folder / "worker.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments], cwd=folder, stdout=out, stderr=err, env=environment()
            )

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8")

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def end(self) -> int:
        """Its exit code, once it has ended."""
        return self.process.wait(60)

    def kill(self) -> None:
        """As `kill -9` does: it can do nothing for its children any more."""
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()


def environment() -> dict[str, str]:
    """That of this process; a command of its own finds the tests' modules, too."""
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def is_running(process: int) -> bool:
    """False for one that ended, even where nobody has asked for its exit code yet."""
    stat = Path(f"/proc/{process}/stat")
    try:
        if stat.parent.parent.joinpath("self").exists():
            return stat.read_text().rpartition(")")[2].split()[0] != "Z"
        os.kill(process, 0)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True


def until_ended(processes: Sequence[int] | set[int], seconds: float = 30) -> None:
    until(lambda: not any(is_running(one) for one in processes), seconds)
