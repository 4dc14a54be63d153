"""The pytest fixtures, in projects of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytest_plugins = ["pytester"]

APP = """
from todoke import Event, Key, Settings, Todoke

app = Todoke()

class Placed(Event):
    order_id: Key[int]

seen = []

@app.on(Placed)
def note(event: Placed) -> None:
    if event.order_id < 0:
        raise ValueError("no such order")
    seen.append(event.order_id)
"""
TEST = """
from todoke.testing import Harness
from {module} import Placed, app, seen

def test_it_arrives(todoke: Harness) -> None:
    with todoke.session() as session:
        app.publish(session, Placed(order_id=1))
    todoke.drain()
    assert (todoke.app is app, seen.pop()) == (True, 1)
"""
NAMED = 'app = "parcels:app"\n'


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> None:
    """Nothing of this project's settings is heard there."""
    monkeypatch.delenv("TODOKE_APP", raising=False)
    scope = "-o asyncio_default_fixture_loop_scope=function"
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-p pytest_todoke -W error {scope}")
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n")


def project(pytester: pytest.Pytester, test: str = TEST, settings: str = NAMED) -> None:
    pytester.makepyfile(parcels=APP, test_parcels=test.format(module="parcels"))
    if settings:
        pytester.makefile(".toml", todoke=settings)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*arguments, timeout=120)


def test_the_application_is_found_by_todoke_toml(pytester: pytest.Pytester) -> None:
    """TS-1"""
    project(pytester)
    run(pytester).assert_outcomes(passed=1)
    assert not Path("todoke.db").exists()


def test_it_is_found_from_a_folder_below_the_root(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TS-1"""
    project(pytester, settings="")
    named = "[tool.todoke]\napp = 'parcels:app'\n"
    pytester.makepyprojecttoml(f"{named}[tool.pytest.ini_options]\npythonpath = ['.']\n")
    below = pytester.mkdir("below")
    Path("test_parcels.py").rename(below / "test_parcels.py")
    monkeypatch.chdir(below)
    run(pytester).assert_outcomes(passed=1)


def test_it_is_found_by_the_environment_and_in_a_package(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TS-1"""
    package = pytester.mkpydir("shop")
    (package / "parcels.py").write_text(APP)
    pytester.makepyfile(TEST.format(module="shop.parcels"))
    monkeypatch.setenv("TODOKE_APP", "shop.parcels:app")
    run(pytester).assert_outcomes(passed=1)


def test_a_fixture_names_the_application_the_tables_and_the_database(
    pytester: pytest.Pytester, postgres_database: str
) -> None:
    """TS-1"""
    own = f"""
        import pytest
        import sqlalchemy
        from sqlalchemy import inspect
        import parcels

        @pytest.fixture
        def todoke_app():
            return parcels.app

        @pytest.fixture
        def todoke_database():
            return {postgres_database!r}

        @pytest.fixture(scope="session")
        def todoke_tables():
            tables = sqlalchemy.MetaData()
            sqlalchemy.Table("orders", tables, sqlalchemy.Column("id", sqlalchemy.Integer))
            return tables

        def test_it_is_there(todoke):
            assert todoke.engine.name == "postgresql"
            assert inspect(todoke.engine).get_table_names() == ["orders"]
    """
    project(pytester, dedent(own) + TEST, settings="")
    run(pytester).assert_outcomes(passed=2)


def test_without_a_name_it_says_how_to_give_one(pytester: pytest.Pytester) -> None:
    """TS-1"""
    project(pytester, settings="")
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["No application is named. Override the fixture `todoke_app`,*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_name_that_leads_nowhere_is_told(pytester: pytest.Pytester) -> None:
    """TS-1"""
    project(pytester, settings='app = "nowhere:app"\n')
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["'nowhere:app' cannot be found:*"])


@pytest.mark.parametrize("mark", ["", "@pytest.mark.anyio"])
def test_async_tests_may_use_it(pytester: pytest.Pytester, mark: str) -> None:
    """TS-1: with pytest-asyncio and with anyio"""
    own = f"""
        import pytest
        from parcels import Placed, app, seen

        {mark}
        async def test_it_arrives(todoke):
            async with todoke.async_session() as session:
                app.publish(session, Placed(order_id=2))
            await todoke.adrain()
            assert seen.pop() == 2
    """
    project(pytester, dedent(own))
    mode = "auto" if not mark else "strict"
    run(pytester, "-o", f"asyncio_mode={mode}", "-k", "not trio").assert_outcomes(passed=1)


def test_tests_run_beside_each_other(pytester: pytest.Pytester) -> None:
    """TS-1: each process has files of its own"""
    own = """
        import pytest
        from parcels import Placed, app, seen

        @pytest.mark.parametrize("number", range(20))
        def test_it_is_alone(todoke, number):
            with todoke.session() as session:
                app.publish(session, Placed(order_id=number))
            todoke.drain()
            assert todoke.published(Placed) == [Placed(order_id=number)]
    """
    project(pytester, dedent(own))
    run(pytester, "-n", "2").assert_outcomes(passed=20)


def test_a_failed_test_shows_what_became_of_its_events(pytester: pytest.Pytester) -> None:
    """TS-1"""
    own = """
        from parcels import Placed, app, seen

        def test_it_arrives(todoke):
            with todoke.session() as session:
                app.publish(session, Placed(order_id=-1))
            todoke.drain()
            assert seen == [-1]
    """
    project(pytester, dedent(own))
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*- todoke -*", "PENDING    placed -1, attempt 1: VALUE_ERROR: no such order"]
    )


def test_an_assertion_points_to_the_test_and_not_into_todoke(pytester: pytest.Pytester) -> None:
    """TS-1"""
    own = """
        from parcels import Placed

        def test_it_arrives(todoke):
            todoke.assert_published(Placed, order_id=1)
    """
    project(pytester, dedent(own))
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*test_parcels.py:4: AssertionError"])
    result.stdout.no_fnmatch_line("*def assert_published*")


def test_who_does_not_use_it_does_not_load_it() -> None:
    """TS-1: every run of pytest imports the fixtures"""
    program = "import sys, pytest_todoke; print([n for n in sys.modules if 'todoke' in n])"
    command = [sys.executable, "-W", "error", "-c", program]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "['pytest_todoke']"
