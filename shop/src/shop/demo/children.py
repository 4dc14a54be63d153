"""The processes of the demo: started together, stopped together."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from shop.demo.ports import Port

_PATIENCE = 15.0


@dataclass(frozen=True)
class Child:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def last_lines(self, count: int = 20) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-count:])


class ChildEnded(Exception):
    """A process that should run on has ended; the message holds the end of its log."""

    def __init__(self, child: Child) -> None:
        super().__init__(
            f"{child.name} ended with exit code {child.process.poll()}."
            f" The end of {child.log}:\n{child.last_lines()}"
        )


class Children:
    """A group of processes that ends with its block, and also when this process is killed."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = dict(environment)
        self._children: list[Child] = []

    def start(self, name: str, *module_and_arguments: str, at: Sequence[Port] = ()) -> None:
        """Run a module; it inherits the ports `at` which it listens, by their handles."""
        log = self._logs / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "shop.demo.tether", *module_and_arguments],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                pass_fds=[port.handle for port in at],
                # Ctrl-C is for the parent, which then stops the children in order.
                start_new_session=True,
            )
        for port in at:
            port.leave()
        self._children.append(Child(name, process, log))

    def check(self, patience: float = 0.0) -> None:
        """Raise when a child has ended, or ends while we are patient with each of them."""
        for child in self._children:
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(patience)
                raise ChildEnded(child)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for child in self._children:
            child.process.terminate()
        for child in self._children:
            _wait(child.process)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        if process.stdin is not None:
            process.stdin.close()
