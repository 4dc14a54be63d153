"""An application on each database, with an archive and a clock that tests move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.retention.old_rows import keeping
from todoke import Todoke
from todoke.testing import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def app(migrated_url: str, clock: Clock, folder: Path) -> Iterator[Todoke]:
    """Archives what is old."""
    with keeping(migrated_url, clock, **{"archive.to": str(folder)}) as app:
        yield app


@pytest.fixture
def deleting(migrated_url: str, clock: Clock) -> Iterator[Todoke]:
    """Has no archive."""
    with keeping(migrated_url, clock) as app:
        yield app
