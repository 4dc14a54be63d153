"""Every scenario of jobs runs, in small, and loses nothing; what cannot be had is told."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from bench.jobs import latency, measure, redis
from bench.jobs.scenarios import AT_BEST, QUICK, TRANSACTIONAL
from bench.order import Order
from bench.peers import environment
from bench.scenario import OURS, RAW, Measured, Scenario, Variant
from bench.scenarios import every

from bench import bars
from tests.servers.postgres import PostgresServer

JOBS = 150


def scenario_of(name: str) -> Scenario:
    return next(one for one in every("postgresql") if one.name == name)


def without_peers(name: str) -> Scenario:
    """todoke and a raw loop; of two kinds of settings the first."""
    scenario = scenario_of(name)
    raw, *_ = (one for one in scenario.variants if one.side == RAW)
    ours = [one for one in scenario.variants if one.side == OURS and one.group != AT_BEST]
    return replace(scenario, variants=[raw, *ours])


def test_an_argument_is_small() -> None:
    assert 80 < len(Order(order_id=12_345).model_dump_json()) < 120


@pytest.mark.parametrize("name", ["jobs-enqueue", "jobs-bulk", "jobs-drain", "jobs-drain-two"])
def test_all_that_is_enqueued_and_drained_is_there_in_the_end(
    name: str, postgres_server: PostgresServer
) -> None:
    """JB-1, JB-5: measuring counts the jobs that wait, those in history, and their runs."""
    scenario = without_peers(name)
    (found,) = measure.measure(scenario, postgres_server.database, {}, events=JOBS, rounds=1)
    assert set(found.figures) == {variant.name for variant in scenario.variants}
    assert not found.missing


def test_jobs_are_timed_from_the_commit(postgres_server: PostgresServer) -> None:
    found = latency.measure(
        without_peers("jobs-latency"), postgres_server.database, {}, events=8, rounds=1
    )
    figures = {one.scenario.figure: one.figures["todoke"] for one in found}
    assert [0.0] < figures["p50"] <= figures["p99"]


def test_peers_without_a_server_are_named(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise OSError("no redis-server here")

    monkeypatch.setattr(redis, "find_tree", none)
    for name, run in (("jobs-enqueue", measure.measure), ("jobs-latency", latency.measure)):
        brokers = [one for one in scenario_of(name).variants if one.side in ("dramatiq", "celery")]
        scenario = replace(scenario_of(name), variants=brokers)
        for found in run(scenario, postgres_server.database, {}, events=2, rounds=1):
            assert not found.figures
            assert {one.name for one in brokers} == set(found.missing)
            assert all("no redis-server here" in reason for reason in found.missing.values())


def test_a_peer_that_needs_a_newer_python_is_named_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 11, 0))
    monkeypatch.setattr(environment, "_newer_python", lambda: "")
    monkeypatch.setattr(environment, "_install", lambda *_: {})
    assert environment.install(["oban"]) == {
        "oban": "needs Python 3.12 or newer, and none was found here"
    }


def test_the_first_of_the_peers_is_the_best_of_all_of_them() -> None:
    """Where one of them could not be measured, nobody is first."""
    scenario = replace(scenario_of("jobs-latency"), figure="p50")
    variants = [Variant("todoke", OURS), *(Variant(side, side) for side in TRANSACTIONAL)]
    figures = {"todoke": [3.0], **{side: [4.0] for side in TRANSACTIONAL}, "oban": [2.0]}
    found = Measured(replace(scenario, variants=variants), 1, figures)
    bar = "jobs-latency, p50: todoke ÷ the first of its peers"
    assert {one["bar"]: one["reached"] for one in bars.told({found.scenario.id: found})}[bar] == 1.5
    del figures["dbos"]
    assert {one["bar"]: one["reached"] for one in bars.told({found.scenario.id: found})}[
        bar
    ] is None


def test_every_peer_has_settings_and_an_environment() -> None:
    assert set(QUICK) == set(environment.JOB_PEERS)
