"""The programs that the wake-up benchmark talks to, todoke's and its peer's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from sqlalchemy import make_url

from bench import wake_todoke

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "var" / "bench"


class Program:
    """A child process that reads and writes lines."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            text=True,
            bufsize=1,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.expect("ready")

    def tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")

    def answer(self) -> list[str]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"{self.process.args!r} died"
        return line.split()

    def expect(self, word: str) -> None:
        found = self.answer()
        assert found == [word], found

    def end(self) -> None:
        """No more lines for it; it ends by itself."""
        self.process.communicate(timeout=30)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def running(command: Sequence[str]) -> Iterator[Program]:
    program = Program(command)
    try:
        yield program
        if program.process.poll() is None:
            program.end()
    finally:
        if program.process.poll() is None:
            program.kill()


@dataclass(frozen=True, slots=True)
class Side:
    """How to start one contestant's worker and producer."""

    name: str
    command: Callable[..., list[str]]
    prepare: Callable[[str], None]


def todoke() -> Side:
    return Side("todoke", todoke_command, wake_todoke.prepare)


def todoke_command(role: str, url: str, *details: object) -> list[str]:
    return [sys.executable, "-m", "bench.wake_todoke", role, url, *map(str, details)]


def txoutbox() -> Side | None:
    """The peer in an environment of its own; None, loudly, when it cannot be had."""
    python = PEERS / "bin" / "python"
    requirements = ROOT / "requirements" / "bench.in"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)]
        subprocess.run(install, check=True)
        version = subprocess.run(
            [
                str(python),
                "-c",
                "from importlib.metadata import version; print(version('txoutbox'))",
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        Console(stderr=True).print(
            f"[bold red]TXOUTBOX CANNOT BE HAD[/]: measured without the peer. {error}"
        )
        return None
    script = str(Path(__file__).with_name("wake_txoutbox.py"))

    def command(role: str, url: str, *_details: object) -> list[str]:
        address = make_url(url).set(drivername="postgresql")
        return [str(python), script, role, address.render_as_string(hide_password=False)]

    return Side(f"txoutbox {version}", command, lambda _url: None)
