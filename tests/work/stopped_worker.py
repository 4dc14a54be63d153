"""A worker that stands still inside its first claim by keys, until somebody lets it go on.

python -m tests.work.stopped_worker URL FOLDER
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import event

from tests.work.running import QUICK
from todoke import Job, Limit, Settings, Todoke, crash

LEASE = 3
SETTINGS: dict[str, object] = {**QUICK, "lease.duration": f"{LEASE}s"}


def visit_job(app: Todoke, folder: str) -> Job[dict[str, str], None]:
    visits = os.open(Path(folder) / "visits", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    @app.job(name="visit", limit=Limit(1, per="tenant"))
    def visit(argument: dict[str, str]) -> None:
        os.write(visits, f"{argument['number']} {os.getpid()}\n".encode())

    return visit


def stop_in_a_claim(app: Todoke) -> None:
    """Once, when it has locked rows and taken a slot of a key, and has committed nothing."""
    taken: list[str] = []

    @event.listens_for(app.agents_engine, "after_cursor_execute")
    def note(_on: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "INSERT" in statement and "key_slots" in statement:
            taken.append(statement)

    def passage(name: str) -> None:
        if name == "claim.before_commit" and taken:
            crash.arm(None)
            signal.raise_signal(signal.SIGSTOP)  # to this thread: it goes no step further

    crash.arm(passage)


def main(url: str, folder: str) -> None:
    app = Todoke(url, settings=Settings(SETTINGS, environment={}))
    visit_job(app, folder)
    stop_in_a_claim(app)
    app.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
