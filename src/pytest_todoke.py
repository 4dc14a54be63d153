"""Fixtures for pytest: `todoke`, and what it can be told by overriding the others.

A module beside the package: every run of pytest imports it, also where nothing uses todoke, and
importing the package would make each of them half a second longer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from todoke import Todoke
    from todoke.testing import Harness
    from todoke.testing.throwaway import Tables

pytest.register_assert_rewrite("todoke.testing.conformance")


@pytest.fixture
def todoke(
    todoke_app: Todoke, todoke_database: str | None, todoke_tables: Tables
) -> Iterator[Harness]:
    """The application on a fresh database, under a clock that the test moves."""
    from todoke.testing import Harness  # noqa: PLC0415

    with Harness(todoke_app, database=todoke_database, tables=todoke_tables) as harness:
        yield harness


@pytest.fixture(scope="session")
def todoke_app(pytestconfig: pytest.Config) -> Todoke:
    """The application under test; override it to name another than todoke.toml does."""
    from todoke.errors import NoApplication  # noqa: PLC0415

    try:
        return _application(pytestconfig)
    except NoApplication as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def todoke_database() -> str | None:
    """The address of a database for tests; without one, a SQLite file that is thrown away."""
    return None


@pytest.fixture(scope="session")
def todoke_tables() -> Tables:
    """The application's own tables: a MetaData, or a function that takes an engine."""
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell, beside what failed, what became of events and jobs."""
    report = yield
    tell = getattr(getattr(item, "funcargs", {}).get("todoke"), "story", None)
    if tell is not None and report.failed and call.when == "call":
        try:
            report.sections.append(("todoke", tell()))
        except Exception as error:  # the test's own failure is what matters
            report.sections.append(("todoke", f"what became of all is not known: {error}"))
    return report


def _application(config: pytest.Config) -> Todoke:
    """As the settings in the current folder say, or those in pytest's root."""
    from todoke.application import load, named  # noqa: PLC0415
    from todoke.settings import Settings  # noqa: PLC0415

    for folder in (config.invocation_params.dir, config.rootpath):
        with chdir(folder):
            if name := Settings.load().get("app"):
                return load(str(name))
    return load(named(None, "Override the fixture `todoke_app`"))
