"""Periods that would forget what is still needed are refused, before the first message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.application import Noted, application
from todoke import Backoff, Settings, Todoke
from todoke.errors import InvalidOption
from todoke.retention.period import retention_of
from todoke.runtime import Runtime

DAY = 86_400.0


def settings(**said: object) -> Settings:
    names = {name.replace("_", ".", 1): value for name, value in said.items()}
    return Settings(names, environment={})


def test_what_is_not_said_is_safe() -> None:
    """OB-12 ER-5"""
    kept = retention_of(settings(), 60.0)
    assert (kept.processed, kept.dead, kept.inbox) == (7 * DAY, 14 * DAY, 15 * DAY)
    assert kept.archive is None


def test_an_inbox_that_forgets_too_early_is_refused_with_the_least_allowed() -> None:
    """OB-12: whoever redrives on the last day must not have a delivery handled twice"""
    least = 14 * 24 * 3600 + 60
    with pytest.raises(InvalidOption, match=f"The smallest value allowed is {least}s"):
        retention_of(settings(retention_inbox=f"{least - 1}s"), 60.0)
    assert retention_of(settings(retention_inbox=f"{least}s"), 60.0).inbox == least


def test_a_longer_life_of_letters_asks_for_a_longer_memory() -> None:
    """OB-12 ER-5"""
    with pytest.raises(InvalidOption, match=r"retention\.inbox"):
        retention_of(settings(retention_inbox="20d", retention_dead="20d"), 1.0)
    assert retention_of(settings(retention_dead="20d"), 1.0).inbox == 21 * DAY


def test_the_most_patient_handler_decides(sqlite_copy: str) -> None:
    """OB-12: all waits with their jitter, and all attempts as long as they may take"""
    with application(sqlite_copy) as app:
        assert app.handlers.horizon == 0.0

        @app.on(Noted, timeout="1m", retry=Backoff("1h", "2h", attempts=5, jitter=0.1))
        def slow(event: Noted) -> None:
            pass

        assert app.handlers.horizon == pytest.approx((1 + 2 + 2 + 2) * 3600 * 1.1 + 5 * 60)


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        (Backoff("1s", "2s", "4s", jitter=0), 7),
        (Backoff(jitter=0), 0),
        (Backoff("10s", attempts=1, jitter=0), 0),
        (Backoff("10s", attempts=1_000_000_001, jitter=0), 1e10),
        (Backoff.exponential("1s", attempts=None, cap="4s", jitter=0), 7),
    ],
)
def test_a_policy_tells_how_long_it_goes_on(policy: Backoff, seconds: float) -> None:
    """OB-12"""
    assert policy.horizon == seconds


def test_a_worker_refuses_to_start(database_url: str) -> None:
    """OB-12"""
    with application(database_url, settings={"retention.inbox": "14d"}) as app:

        @app.on(Noted)
        def handle(event: Noted) -> None:
            pass

        with pytest.raises(InvalidOption, match=r"retention\.inbox"):
            Runtime(app).start()


def test_a_format_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """OB-12"""
    with pytest.raises(InvalidOption, match=r"one of jsonl\.zst, jsonl\.gz"):
        retention_of(settings(archive_to=str(tmp_path), archive_format="csv"), 0)


def test_a_missing_package_is_told_at_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sqlite_copy: str
) -> None:
    """OB-12: with what to install; gzip needs none"""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    monkeypatch.delattr(name, raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    asked: dict[str, object] = {"archive.to": str(tmp_path)}
    with application(sqlite_copy, settings=asked) as app:
        with pytest.raises(InvalidOption, match=r"pip install 'todoke\[archive\]'"):
            Runtime(app).start()
        retention_of(settings(archive_to=str(tmp_path), archive_format="jsonl.gz"), 0)


def test_an_archive_that_is_not_there_is_told(sqlite_copy: str) -> None:
    """OB-12"""
    with application(sqlite_copy) as app, pytest.raises(InvalidOption, match="Name a folder"):
        app.archive.list()


def test_settings_of_these_sections_are_checked() -> None:
    """OB-12: a misspelt period would keep nothing, or everything"""
    with pytest.raises(InvalidOption, match="no such setting"):
        Todoke(settings=Settings({"retention.procesed": "1d"}, environment={}))
