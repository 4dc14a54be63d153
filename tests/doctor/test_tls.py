"""How a line to the database is judged; lines without TLS are looked at on the real servers."""

from __future__ import annotations

import pytest

from todoke import Settings
from todoke.databases.transport_security import Line, judged

PROD = {"env": "prod"}


@pytest.mark.parametrize(
    ("line", "settings", "verdict"),
    [
        (Line("TLSv1.3"), PROD, "ok"),
        (Line("TLSv1.2"), PROD, "bad"),
        (Line("TLSv1.2"), {}, "ok"),
        (Line(None, is_local=True), PROD, "ok"),
        (Line(None, is_broken=True), PROD, "bad"),
        (Line(None), {"database.require_tls": True}, "bad"),
        (Line(None), {**PROD, "database.require_tls": False}, "warn"),
    ],
)
def test_a_line_is_judged(line: Line, settings: dict[str, object], verdict: str) -> None:
    """MS-6: TLS 1.3 in production, and nothing else"""
    found = judged(line, Settings(settings, environment={}), "add ?sslmode=verify-full")
    assert found.verdict == verdict
    assert (found.remedy is None) == (verdict == "ok")


def test_the_environment_says_it_too() -> None:
    """MS-6: off only where that is said"""
    assert Settings(environment={"TODOKE_ENV": "prod"}).requires_tls
    assert not Settings(environment={"TODOKE_ENV": "dev"}).requires_tls
    said = {"TODOKE_ENV": "prod", "TODOKE_DATABASE_REQUIRE_TLS": "false"}
    assert not Settings(environment=said).requires_tls
