"""Jobs that the commands are tried on."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from pydantic import BaseModel

from todoke import Context, Limit, PermanentError, Personal, Run, Todoke

errands = Context("errands")


class Letter(BaseModel):
    to: Personal[str]
    pages: int
    remark: str = ""


@errands.job()
def write(letter: Letter, run: Run) -> Letter:
    for _ in run.track(range(letter.pages)):
        pass
    run.metric("ink", 2.5)
    run.log.info("wrote to %s", letter.to)
    return letter


@errands.job(limit=Limit(1, per="to"))
def refuse(letter: Letter) -> None:
    raise PermanentError("no stamp", code="NO_STAMP")


@errands.job(queue="slow")
def carry(letter: Letter) -> None:
    """No worker of the tests serves its queue."""


@errands.job()
def hold(run: Run) -> None:
    """Runs until it is cancelled, or a file called `go` lies in the current directory."""
    run.progress(3, 10)
    run.log.info("holding")
    pause = Event()
    while not Path("go").exists():
        run.check()
        pause.wait(0.02)


def build(database: str | None = None) -> Todoke:
    app = Todoke(database)
    app.include(errands)
    return app
