"""The same application with a job that kills the process it runs in."""

from __future__ import annotations

import os
import signal

from tests.proof.limited import visit_job
from todoke import Settings, Todoke


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    app = Todoke(url, name="proof", settings=Settings(settings, environment={}))
    visit_job(app, folder)

    @app.job(name="die")
    def die(number: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    return app
