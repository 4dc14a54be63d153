"""Real worker processes for the proofs: started, killed, counted."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.proof.evidence import Called
from tests.waiting import until

ROOT = Path(__file__).parents[2]


@dataclass
class Death:
    pid: int
    signal: int
    at: float


@dataclass
class Workers:
    """What the nursery was told and has told."""

    nursery: subprocess.Popen[str]
    folder: Path
    alive: set[int] = field(default_factory=set)
    deaths: list[Death] = field(default_factory=list)
    spared: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, point: str = "") -> None:
        before = len(self.alive) + len(self.deaths)
        self._say(f"start {point}".strip())
        until(lambda: len(self.alive) + len(self.deaths) > before, 20)

    def kill(self, pid: int) -> None:
        with suppress(ProcessLookupError):  # it may just have died at its own point
            os.kill(pid, signal.SIGKILL)
        until(lambda: pid not in self.alive, 20)

    def stop(self) -> None:
        self._say("stop")
        until(lambda: not self.alive, 60)

    def any(self, chance: random.Random) -> int | None:
        with self.lock:
            doomed = sorted(self.alive - {self.spared})
            return chance.choice(doomed) if doomed else None

    @property
    def kills(self) -> int:
        return sum(1 for death in self.deaths if death.signal == signal.SIGKILL)

    def calls(self) -> list[Called]:
        """What the handlers wrote down; a line cut short by a kill says nothing."""
        lines = (self.folder / "calls").read_text().splitlines()
        return [Called(*parts) for line in lines if len(parts := line.split()) == 3]

    def _say(self, line: str) -> None:
        assert self.nursery.stdin is not None
        self.nursery.stdin.write(line + "\n")
        self.nursery.stdin.flush()

    def listen(self) -> None:
        assert self.nursery.stdout is not None
        for line in self.nursery.stdout:
            what, pid, *rest = line.split()
            with self.lock:
                if what == "started":
                    self.alive.add(int(pid))
                else:
                    self.alive.discard(int(pid))
                    self.deaths.append(Death(int(pid), int(rest[0]), float(rest[1])))


@contextmanager
def workers(
    url: str, folder: Path, settings: dict[str, object], module: str = "tests.proof.nursery"
) -> Iterator[Workers]:
    told = [module, url, str(folder), json.dumps(settings)]
    command = [sys.executable, "-m", "tests.proof.nursery", *told]
    nursery = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    band = Workers(nursery, folder)
    listener = threading.Thread(target=band.listen, daemon=True)
    listener.start()
    try:
        yield band
    finally:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        nursery.stdin.close()
        nursery.wait(20)
        listener.join(20)
        nursery.stdout.close()
