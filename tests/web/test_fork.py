"""A web server that loads the application, uses it, and forks (gunicorn with preload_app)."""

from __future__ import annotations

import subprocess
import sys

from tests.application import application
from tests.house.sources import ROOT

FORKING = """
import os, sys
from todoke import Settings, Todoke
from tests.application import Placed, publish

app = Todoke(sys.argv[1], settings=Settings(environment={}))

class Mailer:
    def __init__(self) -> None:
        self.process = os.getpid()

@app.provide
async def mailer() -> Mailer:
    return Mailer()

@app.on(Placed)
async def handle(event: Placed, mailer: Mailer) -> None:
    assert mailer.process == os.getpid()

publish(app, Placed(order_id=0))
app.drain()
publish(app, Placed(order_id=0))
children = []
for number in range(3):
    if not (child := os.fork()):
        for _ in range(10):
            publish(app, Placed(order_id=number))
        app.drain()
        app.close()
        sys.exit(0)
    children.append(child)
for _ in range(10):
    publish(app, Placed(order_id=9))
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
app.drain()
app.close()
"""


def test_an_application_can_be_used_before_and_after_a_fork(migrated_url: str) -> None:
    """OB-1: parent and children each have their own connections, threads and providers."""
    command = [sys.executable, "-W", "ignore", "-c", FORKING, migrated_url]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    with application(migrated_url) as app, app.session() as session:
        found = app.events.list(session, limit=100)
    assert [one.status for one in found] == ["PROCESSED"] * 42
