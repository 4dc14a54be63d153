"""`todoke.django.tasks` in a real project: Django's tasks are jobs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.examples.example import Example
from tests.house.sources import ROOT
from tests.waiting import until
from tests.web.test_django import looking, project

SUITE = ROOT / "tests" / "web" / "django_tasks_suite.py"
SETTINGS = """
from todoke import Backoff

TASKS = {
    "default": {
        "BACKEND": "todoke.django.tasks.TodokeBackend",
        "QUEUES": ["default", "emails"],
        "OPTIONS": {"retry": Backoff("1m", "1h")},
    },
    "off": {"BACKEND": "todoke.django.tasks.TodokeBackend"},
}
TODOKE["worker"] = {"queues": {"default": 8, "emails": 2}}
TODOKE["jobs"] = {"enabled": {"django-task-off": False}}
"""


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_database"))


@pytest.fixture
def shop(tmp_path: Path, url: str) -> Example:
    shop = project(tmp_path, default=url)
    with (shop.folder / "other_settings.py").open("a") as settings:
        settings.write(SETTINGS)
    shutil.copy(SUITE, shop.folder / "teashop" / "test_tasks_suite.py")
    return shop


def test_a_project_enqueues_tasks(shop: Example) -> None:
    """JB-1, JB-9: transactions, results, retries, priorities, signals (django_tasks_suite.py)"""
    assert "OK" in shop.run("manage.py", "test", "teashop.test_tasks_suite")


def statuses(url: str) -> list[tuple[str, str]]:
    with looking(url) as app, app.session() as session:
        return sorted((one.queue, one.status) for one in app.jobs.list(session))


def enqueue(shop: Example, *calls: str) -> None:
    lines = ["from teashop.test_tasks_suite import add, place_async", *calls]
    shop.run("manage.py", "shell", "-c", "\n".join(lines))


def test_a_worker_finds_tasks_that_it_has_not_imported(shop: Example, url: str) -> None:
    """JB-1: by the path in the row, in the queues that it serves"""
    shop.run("manage.py", "migrate")
    enqueue(shop, "add.enqueue(1)", "place_async.using(queue_name='emails').enqueue('sencha')")
    with shop.running("manage.py", "todoke", "worker", "--queues", "emails=1"):
        until(lambda: ("emails", "PROCESSED") in statuses(url), 30)
        assert statuses(url) == [("default", "PENDING"), ("emails", "PROCESSED")]
    with shop.running("manage.py", "todoke", "worker"):
        until(lambda: statuses(url)[0] == ("default", "PROCESSED"), 30)
