"""The shop's names last: events and handlers are as recorded in todoke.names.json."""

from __future__ import annotations

from pathlib import Path

from shop.app import app

NAMES = Path(__file__).parents[1] / "todoke.names.json"


def test_the_shop_would_start_and_its_names_are_as_recorded() -> None:
    """SH-14 api 1.8"""
    assert not [one for one in app.check(NAMES) if one.verdict != "ok"]
