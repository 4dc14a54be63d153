"""Every scenario of the benchmarks runs, in small, and loses nothing; no peer is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from bench.child import Wish
from bench.measure import EACH, measure
from bench.place import addresses, place
from bench.program import counted
from bench.raw import side as raw_side
from bench.scenario import OURS, RAW, Scenario, Variant
from bench.scenarios import AT_100, every
from bench.wake import flood, latency
from bench.wake.todoke_side import BELL
from sqlalchemy import NullPool, create_engine, text

from bench import memory, todoke_side
from tests.servers.postgres import PostgresServer
from tests.waiting import until

EVENTS = 200
SIDES: dict[str, Any] = {OURS: todoke_side.ROLES, RAW: raw_side.ROLES}


class Orders:
    """What a measured process reads: go, and the end as soon as nothing is left to do."""

    def __init__(self, url: str) -> None:
        self._url = url

    def readline(self) -> str:
        return "go\n"

    def read(self) -> str:
        until(lambda: waiting(self._url) == 0)
        return ""


class Databases:
    """Fresh ones, whose rows are counted before they go."""

    def __init__(self, fresh: Callable[[], AbstractContextManager[str]]) -> None:
        self._fresh = fresh
        self.left: list[tuple[int, int]] = []

    @contextmanager
    def __call__(self) -> Iterator[str]:
        with self._fresh() as url:
            yield url
            self.left.append((waiting(url), settled(url)))


def waiting(url: str) -> int:
    return rows(url, "outbox")


def settled(url: str) -> int:
    return rows(url, "outbox_history")


def rows(url: str, name: str) -> int:
    table = f"todoke.{name}" if url.startswith("postgresql") else f"todoke_{name}"
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def variants(database: str, name: str) -> list[Variant]:
    """todoke's and the raw ones, and of each kind of settings the first."""
    found = [one for one in every(database) if one.name == name]
    return [
        variant
        for variant in (found[0].variants if found else [])
        if variant.side in (OURS, RAW) and variant.group in ("", AT_100)
    ]


def scenario_of(name: str) -> Scenario:
    return next(one for one in every("postgresql") if one.name == name)


@pytest.fixture
def database(database_url: str) -> str:
    """How the benchmarks call it."""
    kind = database_url.partition("+")[0].partition(":")[0]
    return "sqlite-full" if kind == "sqlite" else kind


@pytest.fixture
def place_for(database: str) -> Iterator[Databases]:
    """Fresh databases of the same kind."""
    with place(database) as fresh:
        yield Databases(fresh)


@pytest.fixture
def wish(
    database: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """What a measured process is told; here it is the test's own process."""
    monkeypatch.setattr(sys, "stdin", Orders(database_url))
    with counted(1) as count:
        told = {"events": EVENTS, "each": EACH, "tally": count.path, "process": 0}
        yield {**addresses(database_url, database), **told}


def test_all_that_is_published_and_drained_is_there_in_the_end(
    database: str, database_url: str, wish: Wish
) -> None:
    todoke_side.prepare({**wish, "events": 0})
    published = 0
    for role in ("publish", "bulk"):
        for variant in variants(database, role):
            SIDES[variant.side][role]({**wish, **variant.options})
            published += EVENTS
            assert (waiting(database_url), settled(database_url)) == (published, 0), variant.name
    SIDES[RAW]["drain"]({**wish, "batch": 100})
    assert (waiting(database_url), settled(database_url)) == (0, published)

    for variant in (*variants(database, "drain"), *variants(database, "session")):
        todoke_side.bulk({**wish, **variant.options})
        published += EVENTS
        SIDES[variant.side][variant.options.get("role", "drain")]({**wish, **variant.options})
        assert (waiting(database_url), settled(database_url)) == (0, published), variant.name
    effects = EVENTS * len(variants(database, "session"))
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM effects")).scalar_one() == effects


def test_keys_are_accepted_once_and_found_again(database: str, place_for: Databases) -> None:
    """Each run in a database of its own, where the same keys are new."""
    for role in ("accept", "repeat"):
        scenario = next(one for one in every(database) if one.name == role)
        (found,) = measure(scenario, place_for, {}, events=EVENTS, rounds=1)
        assert set(found.figures) == {variant.name for variant in scenario.variants}
        left = {"accept": (EVENTS, 0), "repeat": (0, 0)}[role]
        assert place_for.left == [left] * len(scenario.variants)
        place_for.left.clear()


def test_two_processes_share_the_work(postgres_server: PostgresServer) -> None:
    fresh = Databases(postgres_server.database)
    scenario = replace(scenario_of("drain-two"), variants=variants("postgresql", "drain")[::2][:2])
    (found,) = measure(scenario, fresh, {}, events=EVENTS, rounds=1)
    assert [variant.side for variant in scenario.variants] == [RAW, OURS]
    assert fresh.left == [(0, EVENTS)] * 2
    assert [len(found.figures[variant.name]) for variant in scenario.variants] == [1, 1]


def test_memory_is_that_of_a_worker_that_did_it_all(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "AT_REST", 0.1)
    fresh = Databases(postgres_server.database)
    (found,) = memory.measure(scenario_of("memory"), fresh, {}, events=EVENTS, rounds=1)
    assert fresh.left == [(0, 0), (0, EVENTS)]
    assert all(megabytes > 10 for (megabytes,) in found.figures.values())


def test_wake_ups_are_timed_from_the_commit(postgres_server: PostgresServer) -> None:
    fresh, without = Databases(postgres_server.database), {"txoutbox": "not here"}
    found = latency.measure(scenario_of("wake"), fresh, without, events=8, rounds=1)
    warm_up, held = 50, 2
    assert fresh.left == [(0, warm_up + 8 + held)]
    figures = {one.scenario.figure: one.figures["todoke"] for one in found}
    assert len(figures) == 6
    assert [0.0] < figures["one after the other, p50"] <= figures["one after the other, p99"]


def test_floods_are_counted(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SECONDS", 0.2), ("PRODUCERS", 1), ("FLUSHES", {"disk as it is": 0})):
        monkeypatch.setattr(flood, name, value)
    bell = [one for one in scenario_of("flood").variants if one.name == BELL]
    fresh = Databases(postgres_server.database)
    found = flood.measure(replace(scenario_of("flood"), variants=bell), fresh, {}, rounds=1)
    committed = [round(one.figures[BELL][0] * flood.SECONDS) for one in found]
    assert [sum(left) for left in fresh.left] == [1 + count for count in committed]  # one before


def test_sqlite_is_measured_with_both_levels_of_durability() -> None:
    levels: dict[str, set[int]] = {}
    for database in ("sqlite-full", "sqlite-normal"):
        with place(database) as fresh, fresh() as url:
            app = todoke_side.application(addresses(url, database))
            for engine in (app.engine, app.agents_engine):
                with engine.connect() as connection:
                    level = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
                levels.setdefault(database, set()).add(level)
            app.close()
    assert levels == {"sqlite-full": {2}, "sqlite-normal": {1}}
