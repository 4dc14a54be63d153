"""A worker that runs one task in a child process and will be killed; perhaps it forks before.

python -m tests.jobs.killed_worker FUNCTION NOTE [FORKED]
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from tests.jobs import cpu_work
from tests.jobs.child_calls import has_begun, run
from tests.waiting import until
from todoke.jobs.children import Children


def main(function: str, note: str, forked: str = "") -> None:
    what = (Children(1), getattr(cpu_work, function), note)
    threading.Thread(target=run, args=what).start()
    if forked:
        until(lambda: has_begun(Path(note)), 30)
        if os.fork() == 0:
            Path(forked).touch()
            threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
