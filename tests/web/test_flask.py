"""`todoke.flask.install`: the command line, the context of handlers, sessions of a request."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask, current_app
from sqlalchemy.orm import scoped_session, sessionmaker

from tests.application import Placed, publish, statuses
from tests.cli.project import environment
from tests.waiting import until
from todoke import Settings, Todoke
from todoke.flask import install

SHOP = """
from flask import Flask, current_app
from todoke import Todoke
from todoke.flask import install
from tests.application import Placed

app = Todoke()

@app.on(Placed)
def handle(event: Placed) -> None:
    open(current_app.config["EFFECT"], "a").write(f"{event.order_id}\\n")

def create_web() -> Flask:
    web = Flask(__name__)
    web.config["EFFECT"] = "effect.txt"
    install(web, app)
    return web
"""


@pytest.fixture
def app(sqlite_copy: str) -> Iterator[Todoke]:
    app = Todoke(sqlite_copy, settings=Settings(environment={}))
    yield app
    app.close()


def web_with(app: Todoke, name: str = "shop") -> Flask:
    web = Flask(name)
    install(web, app)
    return web


def test_the_application_is_an_extension(app: Todoke) -> None:
    """api 2"""
    web = web_with(app)
    with web.app_context():
        assert current_app.extensions["todoke"] is app


def test_flask_todoke_is_the_whole_command_line_with_the_application_at_hand(app: Todoke) -> None:
    """api 3.10: no --app is needed, and the application can be used afterwards."""
    publish(app, Placed(order_id=1))
    assert ask(web_with(app), "todoke", "status", "--json")["pending"] == 1
    publish(app, Placed(order_id=2))
    assert len(ask(web_with(app), "todoke", "events", "list", "--json")) == 2


def test_a_refusal_is_one_line_and_exit_code_1(sqlite_database: str) -> None:
    """api 3.11"""
    result = invoke(web_with(Todoke(sqlite_database)), "todoke", "status")
    assert result.exit_code == 1
    assert "`todoke migrate`" in result.stderr
    assert result.stderr.count("\n") == 1


def ask(web: Flask, *arguments: str) -> Any:
    result = invoke(web, *arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def invoke(web: Flask, *arguments: str) -> Result:
    return web.test_cli_runner().invoke(args=list(arguments))


def test_handlers_run_in_the_context_of_the_web_application(app: Todoke) -> None:
    """OB-3: `def` and `async def`; its teardown runs after each attempt."""
    seen: list[str] = []

    @app.on(Placed)
    def plain(event: Placed) -> None:
        seen.append(current_app.name)

    @app.on(Placed)
    async def later(event: Placed) -> None:
        seen.append(current_app.name)

    web = web_with(app)
    web.teardown_appcontext(lambda error: seen.append("over"))
    publish(app, Placed(order_id=1))
    app.drain()
    assert seen == ["shop", "over"] * 2


def test_of_two_web_applications_made_by_a_factory_the_last_counts(app: Todoke) -> None:
    """OB-3: as in tests, which make one each."""
    seen: list[str] = []

    @app.on(Placed)
    def handle(event: Placed) -> None:
        seen.append(current_app.name)

    first, second = web_with(app, "first"), web_with(app, "second")
    assert first.extensions == second.extensions
    publish(app, Placed(order_id=1))
    app.drain()
    assert seen == ["second"]


@pytest.mark.parametrize(
    ("end", "expected"),
    [("commit", [("PENDING", 0)]), ("rollback", [])],
    ids=["commit", "rollback"],
)
def test_a_request_publishes_on_its_scoped_session(
    app: Todoke, end: str, expected: list[tuple[str, int]]
) -> None:
    """OB-1: as Flask-SQLAlchemy's db.session is one."""
    web, session = web_with(app), scoped_session(sessionmaker(app.engine))
    web.teardown_appcontext(lambda error: session.remove())

    @web.post("/orders/<int:order_id>")
    def place(order_id: int) -> str:
        app.publish(session, Placed(order_id=order_id))
        finish: Callable[[], None] = getattr(session, end)
        finish()
        return "placed"

    assert web.test_client().post("/orders/1").status_code == 200
    assert statuses(app) == expected


def test_the_worker_loads_the_web_application_in_its_processes(
    app: Todoke, sqlite_copy: str, tmp_path: Path
) -> None:
    """OB-3, OB-7: made by its factory; options arrive; SIGTERM ends it with exit code 0."""
    (tmp_path / "shop_web.py").write_text(SHOP)
    publish(app, Placed(order_id=1))
    command = [sys.executable, "-m", "flask", "--app", "shop_web:create_web", "todoke", "worker"]
    worker = subprocess.Popen(
        [*command, "--queues", "default=2"],
        cwd=tmp_path,
        env={**environment(), "TODOKE_DATABASE_URL": sqlite_copy},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: statuses(app) == [("PROCESSED", 1)], 30)
    finally:
        worker.send_signal(signal.SIGTERM)
        out, _ = worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert "queues default=2" in out
    assert (tmp_path / "effect.txt").read_text() == "1\n"
