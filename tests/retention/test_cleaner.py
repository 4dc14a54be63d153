"""The agent: small chunks, at once while there are any, and next to nothing when there are none."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from tests.application import Noted, history, publish
from tests.dying import death_at
from tests.retention.old_rows import (
    archived,
    bury,
    change,
    clean,
    keeping,
    process,
    settled,
)
from tests.waiting import until
from tests.work.running import QUICK, worker
from todoke import Todoke, crash
from todoke.clock import SystemClock
from todoke.retention.clean import Cleaner
from todoke.testing import Clock

POINTS = ["retention.before_write", "retention.after_write", "retention.before_commit"]


def cleaner(app: Todoke, chunk: int = 1000) -> Cleaner:
    return Cleaner(app.archive.cleaning(chunk=chunk))


def tick(app: Todoke, agent: Cleaner) -> float:
    with app.engine.connect() as connection:
        return agent.tick(connection)


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """Those that are run meanwhile."""
    told: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        told.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield told
    finally:
        event.remove(engine, "before_cursor_execute", note)


def test_a_tick_cleans_one_chunk_and_the_next_follows_at_once(app: Todoke, clock: Clock) -> None:
    """OB-12: on SQLite other writers get their turn in between"""
    process(app, *range(5))
    clock.advance("7d")
    agent = cleaner(app, chunk=2)
    breath = 0.05 if app.database.one_writer else 0.0
    seen = []
    while (rest := tick(app, agent)) != 60.0:
        assert rest == breath
        seen.append(len(settled(app)))
    assert seen == [3, 1, 0]


def test_by_hand_others_get_their_turn_as_well(
    app: Todoke, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-12: after every chunk, where only one can write"""
    process(app, *range(5))
    clock.advance("7d")
    rests: list[float] = []
    monkeypatch.setattr("todoke.retention.clean.breathe", rests.append)
    with app.engine.connect() as connection:
        app.archive.cleaning(chunk=2).clean_all(connection, lambda _kind, _rows: None)
    assert settled(app) == []
    assert len(rests) >= 3
    assert set(rests) == {0.05 if app.database.one_writer else 0.0}


def test_a_look_that_finds_nothing_costs_the_same_however_much_there_is(
    app: Todoke, clock: Clock
) -> None:
    """OB-12: one row of each history, and a look into an index for the rest"""
    costs = []
    for amount in (1, 200):
        process(app, *range(amount))
        agent = cleaner(app)
        tick(app, agent)
        with statements(app.engine) as told:
            assert tick(app, agent) == 60.0
        costs.append(len(told))
    assert costs == [7, 7]


def test_one_that_stays_is_looked_at_again_later(app: Todoke, clock: Clock) -> None:
    """OB-12: rows that were settled late are passed, but not for ever"""
    process(app, 1, 2)
    first, _ = history(app)
    clock.advance("1d")
    change(app, app.outbox_table.history, first.id, settled_at=clock.now())
    clock.advance("6d")
    agent = cleaner(app)
    tick(app, agent)
    assert settled(app) == [1]
    clock.advance("1d")
    while tick(app, agent) != 60.0:
        pass
    assert settled(app) == []


@pytest.mark.parametrize("point", POINTS)
def test_whoever_dies_loses_nothing(app: Todoke, clock: Clock, point: str) -> None:
    """OB-12 ER-5: rows may be archived twice, never deleted without"""
    process(app, *range(3))
    bury(app, 8)
    before = {row.id for row in history(app)}
    clock.advance("14d")
    with death_at(point):
        tick(app, cleaner(app))
    assert {row.id for row in history(app)} == before
    clean(app)
    assert history(app) == []
    assert {line.id for line in archived(app, "event")} == before
    assert [line.row["key"] for line in archived(app, "dead-letter")] == ["8"]
    twice = len(archived(app, "event")) == 2 * len(before)
    assert twice is (point != "retention.before_write")


def test_rows_are_on_disk_before_they_are_deleted(
    app: Todoke, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-12: the file, and the folder that names it, also after the power went"""
    process(app, 1)
    clock.advance("7d")
    sync = os.fsync
    with statements(app.engine) as told:

        def noted(handle: int) -> None:
            told.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
            sync(handle)

        monkeypatch.setattr(os, "fsync", noted)
        tick(app, cleaner(app))
    steps = [one.split()[0] for one in told if not one.startswith("SELECT")]
    assert steps == ["folder", "file", "folder", "DELETE"]


def test_whoever_dies_lets_others_go_on(deleting: Todoke, clock: Clock) -> None:
    """OB-12: also where there is no archive"""
    process(deleting, *range(3))
    clock.advance("7d")
    with death_at("retention.before_commit"):
        tick(deleting, cleaner(deleting))
    assert len(settled(deleting)) == 3
    assert clean(deleting) == {"event": 3}


def test_two_clean_side_by_side(app: Todoke, clock: Clock) -> None:
    """OB-12: while one has its rows locked the other takes the next, and none goes twice"""
    process(app, *range(10))
    clock.advance("7d")
    first, second = cleaner(app, chunk=4), cleaner(app, chunk=4)
    between: list[int] = []

    def passage(name: str) -> None:
        # Once, in the middle of the first one's transaction.
        if name == "retention.after_write" and not between:
            between.append(-1)
            tick(app, second)
            tick(app, second)
            between.append(len(settled(app)))

    if app.database.one_writer:
        tick(app, first)
        tick(app, second)
    else:
        before = crash.arm(passage)
        try:
            tick(app, first)
        finally:
            crash.arm(before)
        assert between[1] == 6, "the second one waited, or took what was locked"
    for agent in (first, second):
        while tick(app, agent) != 60.0:
            pass
    assert settled(app) == []
    assert sorted(int(line.row["key"]) for line in archived(app)) == list(range(10))


def test_what_was_locked_by_one_that_died_is_cleaned_by_another(app: Todoke, clock: Clock) -> None:
    """OB-12"""
    if app.database.one_writer:
        return
    process(app, *range(3))
    clock.advance("7d")
    agent, chosen = cleaner(app), app.outbox_table.history.select().with_for_update()
    with app.engine.connect() as connection:
        connection.execute(chosen).all()
        tick(app, agent)
        assert len(settled(app)) == 3
    clock.advance("1m")
    tick(app, agent)
    assert settled(app) == []


def test_where_nothing_can_be_written_nothing_is_deleted(
    app: Todoke, clock: Clock, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """OB-12: told once, and tried again"""
    folder.write_text("no folder")
    process(app, *range(3))
    clock.advance("7d")
    agent = cleaner(app)
    with caplog.at_level(logging.WARNING, "todoke"):
        assert [tick(app, agent) for _ in range(3)] == [60.0] * 3
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    assert "nothing is deleted" in caplog.text
    assert len(settled(app)) == 3
    folder.unlink()
    with caplog.at_level(logging.WARNING, "todoke"):
        tick(app, agent)
    assert "can be written again" in caplog.text
    assert (settled(app), len(archived(app))) == ([], 3)


def test_a_worker_cleans_beside_its_work(migrated_url: str, folder: Path) -> None:
    """OB-12: and an archive that cannot be written keeps it from nothing"""
    settings = {**QUICK, "archive.to": str(folder), "retention.processed": "1ms"}
    with keeping(migrated_url, SystemClock(), **settings) as app:
        process(app, 1, 2)
        with worker(app) as (runtime, _):
            until(lambda: settled(app) == [])
            assert runtime.counts["cleaned"] == 2
        assert sorted(line.row["key"] for line in archived(app)) == ["1", "2"]


def test_a_worker_works_on_while_its_archive_cannot_be_written(
    migrated_url: str, tmp_path: Path
) -> None:
    """OB-12"""
    taken = tmp_path / "taken"
    taken.write_text("no folder")
    settings = {**QUICK, "archive.to": str(taken), "retention.processed": "1ms"}
    with keeping(migrated_url, SystemClock(), **settings) as app:
        process(app, 1)
        with worker(app):
            publish(app, Noted(order_id=2))
            until(lambda: settled(app) == [1, 2])
