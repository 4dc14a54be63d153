"""The harness on a thrown-away file and on each real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.testing import post
from todoke.testing import Harness


@pytest.fixture(params=["throwaway", "postgres", "mariadb"])
def todoke(request: pytest.FixtureRequest) -> Iterator[Harness]:
    kind = request.param
    url = None if kind == "throwaway" else str(request.getfixturevalue(f"{kind}_copy"))
    with Harness(post.app, database=url, tables=post.tables) as harness:
        yield harness
