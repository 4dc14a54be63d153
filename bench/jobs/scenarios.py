"""The scenarios of jobs. Settings of the peers are their authors' or the best that were found.

Names tell what becomes of a job that is done: todoke and raw loops keep it, and a row of its run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.jobs.redis import ALWAYS, EACH_SECOND
from bench.scenario import OURS, RAW, Scenario, Variant

POSTGRESQL, UNIT = "postgresql", "jobs/s"
CONNECTION, SESSION, DRIVER = "todoke, Connection", "todoke, Session", "todoke, driver's connection"
ASYNCPG = "todoke, asyncpg's connection"
AT_100, AT_BEST = "batch 100", "best settings"
SETTINGS: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    AT_100: (100, {"outbox.batch": 100}),
    AT_BEST: (500, {"outbox.profile": "throughput"}),
}
KEEPS = "keeps history"
IN_TRANSACTION, BY_ITSELF = "in a transaction", "by itself"
TRANSACTIONAL = {
    "pgqueuer": "PgQueuer",
    "procrastinate": "Procrastinate",
    "chancy": "Chancy",
    "oban": "Oban",
    "dbos": "DBOS",
}
"""Peers whose jobs commit with the caller's changes."""
ON_REDIS = {"dramatiq": "Dramatiq + Redis", "celery": "Celery + Redis"}
FLUSHES = {EACH_SECOND: "flushed each second", ALWAYS: "flushed always"}
QUICK: Mapping[str, Mapping[str, Any]] = {
    "pgqueuer": {"batch": 1000},
    "procrastinate": {"concurrency": 10, "delete_jobs": "never"},
    "chancy": {"concurrency": 1000, "outgoing": 0.1},
    "oban": {"limit": 500},
    "dbos": {"polling": 0.01, "threads": 64, "pool": 20},
    "dramatiq": {"threads": 8},
    "celery": {"pool": "solo", "prefetch": 64},
}
"""The best that were found for each."""


def jobs() -> list[Scenario]:
    return [_enqueue(), _bulk(), _drain(1), _drain(2), _latency()]


def _enqueue() -> Scenario:
    """A job commits with the caller's changes, or, where it can, in one trip by itself."""
    peers = [
        Variant(f"{name}, {how}", side, {"by_itself": how == BY_ITSELF}, how)
        for how in (IN_TRANSACTION, BY_ITSELF)
        for side, name in TRANSACTIONAL.items()
    ]
    brokers = [
        Variant(f"{name}, {words}", side, {"appendfsync": flush}, "no database")
        for side, name in ON_REDIS.items()
        for flush, words in FLUSHES.items()
    ]
    return Scenario(
        "jobs-enqueue",
        "enqueue, one job per transaction",
        POSTGRESQL,
        "jobs-enqueue",
        [
            Variant("raw INSERT", RAW),
            *_by_handle(IN_TRANSACTION),
            Variant(ASYNCPG, OURS, {"handle": "asyncpg"}, IN_TRANSACTION),
            *peers,
            *brokers,
        ],
        events=2_000,
        unit=UNIT,
    )


def _bulk() -> Scenario:
    peers = [
        Variant("PgQueuer, list of jobs", "pgqueuer"),
        Variant("Procrastinate, batch_defer", "procrastinate", share=0.5),
        Variant("Chancy, push_many_ex", "chancy", share=0.2),
        Variant("Oban, enqueue_many", "oban", share=0.2),
        Variant("DBOS, one by one", "dbos", share=0.05),
        Variant("Dramatiq + Redis, one by one, no transaction", "dramatiq", share=0.2),
        Variant("Celery + Redis, one by one, no transaction", "celery", share=0.1),
    ]
    return Scenario(
        "jobs-bulk",
        "enqueue, 1,000 jobs per transaction",
        POSTGRESQL,
        "jobs-bulk",
        [Variant("raw INSERT … SELECT unnest", RAW), *_by_handle(), *peers],
        events=20_000,
        unit=UNIT,
    )


def _by_handle(group: str = "") -> Iterator[Variant]:
    yield Variant(CONNECTION, OURS, {}, group)
    yield Variant(SESSION, OURS, {"handle": "session"}, group)
    yield Variant(DRIVER, OURS, {"handle": "driver"}, group)


def _drain(processes: int) -> Scenario:
    words = "one process" if processes == 1 else f"{processes} processes"
    return Scenario(
        "jobs-drain" if processes == 1 else "jobs-drain-two",
        f"drain of a backlog of jobs, {words}",
        POSTGRESQL,
        "jobs-drain",
        [*_raw(), *_ours(), *_peers()],
        events=20_000,
        processes=processes,
        unit=UNIT,
    )


def _raw() -> Iterator[Variant]:
    for group, (batch, _) in SETTINGS.items():
        yield Variant(f"raw loop, batch {batch}, {KEEPS}", RAW, {"batch": batch}, group)
        told = {"batch": batch, "validates": True}
        yield Variant(f"raw loop that validates, batch {batch}, {KEEPS}", RAW, told, group)


def _ours() -> Iterator[Variant]:
    for group, (_, settings) in SETTINGS.items():
        yield Variant(ours("async def", group), OURS, {"settings": settings}, group)
        told = {"handler": "thread", "settings": settings}
        yield Variant(ours("def in threads", group), OURS, told, group)


def ours(kind: str, group: str) -> str:
    return f"todoke, {kind}, {group}, {KEEPS}"


def _peers() -> Iterator[Variant]:
    """All validate the argument, as todoke does."""
    yield Variant("PgQueuer, batch 100, deletes, keeps a log", "pgqueuer", {"batch": 100}, AT_100)
    told = {side: (options, AT_BEST) for side, options in QUICK.items()}
    yield Variant("PgQueuer, batch 1000, deletes, keeps a log", "pgqueuer", *told["pgqueuer"])
    keeps, deletes = (
        {**QUICK["procrastinate"], "delete_jobs": when} for when in ("never", "always")
    )
    slow = 0.05
    for words, options in (("keeps its rows", keeps), ("deletes", deletes)):
        name = f"Procrastinate, concurrency 10, {words}"
        yield Variant(name, "procrastinate", options, AT_BEST, slow)
    yield Variant("Chancy, concurrency 1000, keeps its rows", "chancy", *told["chancy"], 0.5)
    yield Variant("Oban, limit 500, keeps its rows", "oban", *told["oban"], 0.5)
    yield Variant("DBOS, 64 threads, keeps its rows", "dbos", *told["dbos"], 0.1)
    yield Variant("Dramatiq + Redis, 8 threads, deletes", "dramatiq", *told["dramatiq"], 0.5)
    yield Variant("Celery + Redis, solo, deletes", "celery", *told["celery"], 0.1)


def _latency() -> Scenario:
    peers = [
        Variant(TRANSACTIONAL.get(side) or ON_REDIS[side], side, options)
        for side, options in QUICK.items()
        if side != "dbos"
    ]
    default = {**QUICK["dbos"], "polling": 1.0}
    return Scenario(
        "jobs-latency",
        "from commit to start of the job, idle worker, one job at a time",
        POSTGRESQL,
        "jobs-latency",
        [
            Variant("raw loop, NOTIFY in the commit", RAW, {"batch": 100}),
            Variant("todoke", OURS),
            *peers,
            Variant("DBOS, polls every 10 ms", "dbos", QUICK["dbos"]),
            Variant("DBOS, polls every second, its default", "dbos", default, share=0.05),
        ],
        events=500,
        unit="ms",
    )
