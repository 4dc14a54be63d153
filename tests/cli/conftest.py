"""Projects for the commands, on SQLite and on every kind of database."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.errand_desk import Errands
from tests.cli.project import APP, MODULE, Project


@pytest.fixture(autouse=True)
def plain_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current directory and an environment that hold nothing of the person who runs the tests."""
    said = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "COLUMNS")
    for name in [name for name in os.environ if name.startswith("TODOKE_") or name in said]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    sys.modules.pop(MODULE, None)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Not on all three: what the commands call has its own tests on every kind of database."""
    return str(request.getfixturevalue(f"{request.param}_database"))


@pytest.fixture
def empty_project(
    plain_environment: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """A project whose database has no tables yet, once on every kind of database."""
    yield from _project(plain_environment, database_url, monkeypatch)


@pytest.fixture(params=["sqlite", "postgres"])
def any_project(
    request: pytest.FixtureRequest, plain_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """A project, once on every kind of database."""
    url = str(request.getfixturevalue(f"{request.param}_copy"))
    yield from _project(plain_environment, url, monkeypatch)


@pytest.fixture
def project(
    plain_environment: Path, sqlite_copy: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """A project on SQLite."""
    yield from _project(plain_environment, sqlite_copy, monkeypatch)


def _project(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("TODOKE_DATABASE_URL", url)
    monkeypatch.setenv("TODOKE_APP", APP)
    made = Project(folder, url)
    yield made
    made.app.close()


@pytest.fixture
def any_errands(any_project: Project) -> Iterator[Errands]:
    """A project with jobs, once on every kind of database."""
    errands = Errands(any_project)
    yield errands
    errands.app.close()


@pytest.fixture
def errands(project: Project) -> Iterator[Errands]:
    """The same on SQLite."""
    errands = Errands(project)
    yield errands
    errands.app.close()
