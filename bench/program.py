"""A measured process, as the measuring one sees it: lines in, lines out, and a shared count."""

from __future__ import annotations

import mmap
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from rich.console import Console

from bench.child import CELL, CELLS

ROOT = Path(__file__).parents[1]


def tell(progress: str) -> None:
    """Where the measuring stands, beside the figures."""
    Console(stderr=True, soft_wrap=True).print(progress, highlight=False)


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
        self.process.communicate(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def running(command: Sequence[str]) -> Iterator[Program]:
    program = Program(command)
    try:
        yield program
    except BaseException:
        program.kill()
        raise
    finally:
        program.end()


class Count:
    """What all processes together have handled, and when the first of them began."""

    def __init__(self, path: str, cells: memoryview) -> None:
        self.path, self._cells = path, cells

    @property
    def handled(self) -> int:
        return sum(self._cells[::CELLS])

    @property
    def began(self) -> int:
        return min(filter(None, self._cells[1::CELLS]))


@contextmanager
def counted(processes: int) -> Iterator[Count]:
    with NamedTemporaryFile(prefix="todoke-bench-") as file:
        file.write(bytes(processes * CELLS * CELL))
        file.flush()
        with (
            mmap.mmap(file.fileno(), 0) as memory,
            memoryview(memory) as whole,
            whole.cast("Q") as cells,
        ):
            yield Count(file.name, cells)
