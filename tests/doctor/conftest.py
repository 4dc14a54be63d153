"""Databases with a server, once of each kind."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["postgres", "mariadb"])
def server_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_database"))
