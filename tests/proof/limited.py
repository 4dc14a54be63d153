"""An application for the proof of limits: each job stands in a room with its key on the door.

A second one with the same key finds the door shut (the primary key); whoever enters counts the
heads. What went wrong is written down in a file.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from todoke import Job, Limit, Settings, Todoke

AT_ONCE = 10


class Visit(BaseModel):
    number: int
    tenant: str


def visit_job(app: Todoke, folder: str) -> Job[Visit, None]:
    lines = os.open(Path(folder) / "visits", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    @app.job(
        name="visit",
        limit=[Limit(AT_ONCE), Limit(1, per="tenant")],
        keep_successes=0,
    )
    def visit(argument: Visit) -> None:
        mine = {"tenant": argument.tenant, "pid": os.getpid()}
        with app.engine.connect() as connection:
            try:
                with connection.begin():
                    connection.execute(text("INSERT INTO inside VALUES (:tenant, :pid)"), mine)
            except IntegrityError:
                os.write(lines, f"{argument.number} met another of {argument.tenant}\n".encode())
                return
            with connection.begin():
                heads = connection.execute(text("SELECT count(*) FROM inside")).scalar_one()
            if heads > AT_ONCE:
                os.write(lines, f"{argument.number} was one of {heads}\n".encode())
            with connection.begin():
                gone = text("DELETE FROM inside WHERE tenant = :tenant AND pid = :pid")
                connection.execute(gone, mine)
        os.write(lines, f"{argument.number} done\n".encode())

    return visit


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    app = Todoke(url, name="proof", settings=Settings(settings, environment={}))
    visit_job(app, folder)
    return app
