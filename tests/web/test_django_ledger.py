"""`todoke.django.middleware` in a real project: a request with a key is done once."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from httpx import AsyncClient, Limits, Response
from sqlalchemy import create_engine, text

from tests.examples.example import Example, client
from tests.house.sources import ROOT
from tests.servers.place import free_port
from tests.web.test_django import project

SUITE = ROOT / "tests" / "web" / "django_ledger_suite.py"
MIDDLEWARE = "MIDDLEWARE = [*MIDDLEWARE, 'todoke.django.middleware.IdempotencyMiddleware']\n"
KEYS, CALLERS = 20, 12
ACCIDENTS = range(0, CALLERS, 4)
# The client closes what it has too many of, also where a request is about to begin.
EVERY = Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=None)
"""Callers whose view fails, if it is they who come first."""


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_database"))


@pytest.fixture
def shop(tmp_path: Path, url: str) -> Example:
    shop = project(tmp_path, default=url, other=f"sqlite:///{tmp_path / 'other.db'}")
    with (shop.folder / "other_settings.py").open("a") as settings:
        settings.write(f"{MIDDLEWARE}DATABASES['other']['ATOMIC_REQUESTS'] = True\n")
    return shop


def test_a_project_is_asked_with_keys(shop: Example) -> None:
    """ID-2, ID-8: repeats, refusals, policies, users, async views (django_ledger_suite.py)"""
    shutil.copy(SUITE, shop.folder / "teashop" / "test_ledger_suite.py")
    said = shop.run("manage.py", "test", "teashop.test_ledger_suite")
    assert "OK" in said


def test_equal_requests_at_the_same_instant_are_one(shop: Example, url: str) -> None:
    """ID-3: over real HTTP, in threads; some of the first are rolled back"""
    shutil.copy(SUITE, shop.folder / "teashop" / "test_ledger_suite.py")
    with (shop.folder / "other_settings.py").open("a") as settings:
        settings.write("ROOT_URLCONF = 'teashop.test_ledger_suite'\nDEBUG = False\n")
    shop.run("manage.py", "migrate")
    port = free_port()
    with (
        shop.running("manage.py", "runserver", "--noreload", str(port), ends_with=(0, -15)),
        client(port),
    ):
        answers = asyncio.run(ask(port))
    for key, same in answers.items():
        assert {one.status_code for one in same} <= {201, 500}, key
        definite = [one for one in same if one.status_code == 201]
        assert len(definite) >= CALLERS - len(ACCIDENTS)
        assert len({one.content for one in definite}) == 1
        assert sum("Idempotency-Replayed" not in one.headers for one in definite) == 1
    assert placed(url) == KEYS


async def ask(port: int) -> dict[str, list[Response]]:
    answers: dict[str, list[Response]] = {f"key {number}": [] for number in range(KEYS)}

    async def call(http: AsyncClient, key: str, caller: int) -> None:
        headers = {"Idempotency-Key": key}
        if caller in ACCIDENTS:
            headers["X-Roll-Back"] = "yes"
        url = f"http://127.0.0.1:{port}/orders"
        answers[key].append(await http.post(url, json={"article": key}, headers=headers))

    async with AsyncClient(timeout=60, limits=EVERY) as http:
        for key in answers:
            await asyncio.gather(*(call(http, key, caller) for caller in range(CALLERS)))
    return answers


def placed(url: str) -> int:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(text("SELECT count(*) FROM teashop_order")).scalar_one()
    engine.dispose()
    return int(found)
