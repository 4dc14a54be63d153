"""An application for the proof of schedules with real processes: a job that is due every second."""

from __future__ import annotations

from tests.proof.tick_ledger import Plan
from todoke import Settings, Todoke

PLANS = [
    Plan("beat", 1, 0, {"every": "1s", "missed": "all", "overlap": "allow"}),
    Plan("alone", 2, 0, {"cron": "*/2 * * * * *"}, alone=True),
]


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    app = Todoke(url, name="proof", settings=Settings(settings, environment={}))

    @app.job()
    def work() -> None: ...

    for plan in PLANS:
        app.schedule(work, name=plan.name, **plan.options)
    return app
