"""The scenarios. Settings of the peers are their authors' or the best that were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.jobs.scenarios import jobs
from bench.memory import IDLE, PEAK
from bench.scenario import OURS, RAW, Scenario, Variant
from bench.wake.todoke_side import BARE, BARE_NOTIFY, BELL, NOTIFY, POLLING

POSTGRESQL = "postgresql"
CONNECTION, SESSION = "todoke, Connection", "todoke, Session"
DRIVER = "todoke, driver's connection"
RAW_BULK = {POSTGRESQL: "INSERT … SELECT unnest", "mariadb": "INSERT of many rows"}
AT_100, AT_BEST = "batch 100", "best settings"
KEEPS_HISTORY = ", keeps history"
DEFAULT: Mapping[str, Any] = {"outbox.batch": 100}
BEST: Mapping[str, Any] = {"outbox.profile": "throughput"}
SETTINGS = {AT_100: (100, DEFAULT), AT_BEST: (500, BEST)}
KEEPS, DELETES = {"delete_on_ack": False}, {"delete_on_ack": True}
UNORDERED = {"delete_on_ack": True, "strict_ordering": False}


def every(database: str) -> list[Scenario]:
    """What is measured in this database; peers know only PostgreSQL."""
    if database == POSTGRESQL:
        return [
            _publish(),
            _bulk(),
            _accept(),
            _repeat(),
            _drain(1),
            _drain(2),
            _bare(),
            _order(),
            _session(),
            _wake(),
            _flood(),
            _memory(),
            *jobs(),
        ]
    return [
        _publish(database),
        _bulk(database),
        _accept(database),
        _repeat(database),
        _drain_elsewhere(database),
    ]


def _publish(database: str = POSTGRESQL) -> Scenario:
    peers = [
        Variant("PgQueuer", "pgqueuer"),
        Variant("txoutbox", "txoutbox"),
        Variant("Procrastinate", "procrastinate"),
    ]
    return Scenario(
        "publish",
        "publish, one event per transaction",
        database,
        "publish",
        [
            Variant("raw INSERT", RAW),
            *_by_handle(),
            *(peers if database == POSTGRESQL else []),
        ],
        events=2_000,
    )


def _bulk(database: str = POSTGRESQL) -> Scenario:
    peers = [
        Variant("PgQueuer, list of jobs", "pgqueuer"),
        Variant("txoutbox, one by one", "txoutbox", share=0.5),
        Variant("Procrastinate, batch_defer", "procrastinate", share=0.5),
    ]
    return Scenario(
        "bulk",
        "publish, 1,000 events per transaction",
        database,
        "bulk",
        [
            Variant(f"raw {RAW_BULK.get(database, 'executemany')}", RAW),
            *_by_handle(),
            *(peers if database == POSTGRESQL else []),
        ],
        events=20_000,
    )


def _accept(database: str = POSTGRESQL) -> Scenario:
    return Scenario(
        "accept",
        "accept a key and publish what settles it, one transaction each",
        database,
        "accept",
        [Variant("raw INSERT and INSERT", RAW), *_by_handle()],
        events=2_000,
    )


def _repeat(database: str = POSTGRESQL) -> Scenario:
    return Scenario(
        "repeat",
        "accept a key that is settled, one transaction each",
        database,
        "repeat",
        [Variant("raw SELECT", RAW), *_by_handle()],
        events=2_000,
    )


def _by_handle() -> Iterator[Variant]:
    yield Variant(CONNECTION, OURS)
    yield Variant(SESSION, OURS, {"handle": "session"})
    yield Variant(DRIVER, OURS, {"handle": "driver"})


def _drain(processes: int) -> Scenario:
    words = "one process" if processes == 1 else f"{processes} processes"
    return Scenario(
        "drain" if processes == 1 else "drain-two",
        f"drain of a backlog, {words}",
        POSTGRESQL,
        "drain",
        [*_raw(), *_ours(full=processes == 1), *_peers()],
        events=20_000,
        processes=processes,
    )


def _raw() -> Iterator[Variant]:
    for group, (batch, _) in SETTINGS.items():
        yield Variant(f"raw loop, batch {batch}", RAW, {"batch": batch}, group)
        validating = {"batch": batch, "validates": True}
        yield Variant(f"raw loop that validates, batch {batch}", RAW, validating, group)


def _ours(*, full: bool) -> Iterator[Variant]:
    kinds: dict[str, dict[str, Any]] = {
        "async def": {},
        "def in threads": {"handler": "thread"},
        "ordered, each its key": {"ordered": True},
        "ordered, 1,000 keys": {"ordered": True, "keys": 1000},
    }
    for group, (_, settings) in SETTINGS.items():
        for kind, options in kinds.items():
            if full or kind in ("async def", "ordered, each its key"):
                told = {**options, "settings": settings}
                yield Variant(f"todoke, {kind}, {group}", OURS, told, group)


def _peers() -> Iterator[Variant]:
    """All validate the event, as todoke does."""
    for batch, group in ((100, AT_100), (1000, AT_BEST)):
        told = {"batch": batch, "validates": True}
        deletes, keeps = {**told, "storage": DELETES}, {**told, "storage": KEEPS}
        yield Variant(f"PgQueuer, batch {batch}", "pgqueuer", told, group)
        yield Variant(f"txoutbox, batch {batch}, deletes", "txoutbox", deletes, group)
        like = group + KEEPS_HISTORY
        yield Variant(f"txoutbox, batch {batch}, keeps its rows", "txoutbox", keeps, like)
    unordered = {"batch": 1000, "validates": True, "storage": UNORDERED}
    yield Variant("txoutbox, batch 1000, deletes, no order", "txoutbox", unordered, AT_BEST)
    slow = {"batch": 10, "validates": True}
    yield Variant("Procrastinate, concurrency 10", "procrastinate", slow, AT_BEST, share=0.05)


def _bare() -> Scenario:
    """Peers at their very best; todoke always validates."""
    told = {"batch": 1000, "validates": False}
    return Scenario(
        "drain-bare",
        "drain of a backlog, one process, peers without validation",
        POSTGRESQL,
        "drain",
        [
            Variant("raw loop, batch 500", RAW, {"batch": 500}),
            Variant("todoke, async def, best settings", OURS, {"settings": BEST}),
            Variant("PgQueuer, batch 1000", "pgqueuer", told),
            Variant("txoutbox, batch 1000, deletes", "txoutbox", {**told, "storage": DELETES}),
            Variant(
                "txoutbox, batch 1000, deletes, no order",
                "txoutbox",
                {**told, "storage": UNORDERED},
            ),
        ],
        events=20_000,
    )


def _drain_elsewhere(database: str) -> Scenario:
    return Scenario(
        "drain",
        "drain of a backlog, one process",
        database,
        "drain",
        [*_raw(), *_ours(full=False)],
        events=20_000,
    )


def _order() -> Scenario:
    kinds = {"unordered": None, "each its key": 0, "1,000 keys": 1000, "10 keys": 10}
    options = {
        name: {} if keys is None else {"ordered": True, "keys": keys}
        for name, keys in kinds.items()
    }
    return Scenario(
        "order",
        "drain of a backlog in order and without, batch 100",
        POSTGRESQL,
        "drain",
        [
            Variant("raw loop, batch 100", RAW, {"batch": 100}),
            *(Variant(f"todoke, {name}", OURS, told) for name, told in options.items()),
        ],
        events=20_000,
    )


def _session() -> Scenario:
    connections = 8
    bounds = {"worker.threads": connections, "worker.queues.default": connections}
    ours = {
        group: {"handler": "session", "settings": {**settings, **bounds}}
        for group, (_, settings) in SETTINGS.items()
    }
    raw = {"role": "drain_with_effects", "batch": 100, "connections": connections}
    return Scenario(
        "session",
        f"drain with one INSERT and one commit per event, {connections} connections",
        POSTGRESQL,
        "drain",
        [
            Variant(f"raw, {connections} threads", RAW, raw),
            *(
                Variant(f"todoke, session handler, {group}", OURS, told)
                for group, told in ours.items()
            ),
        ],
        events=5_000,
    )


def _wake() -> Scenario:
    return Scenario(
        "wake",
        "from commit to handler, idle worker",
        POSTGRESQL,
        "wake",
        [Variant("todoke", OURS), Variant("txoutbox", "txoutbox")],
        events=500,
        unit="ms",
    )


def _flood() -> Scenario:
    return Scenario(
        "flood",
        "8 producers, one event a commit",
        POSTGRESQL,
        "flood",
        [
            Variant(POLLING, RAW, group="todoke"),
            Variant(BELL, OURS, group="todoke"),
            Variant(NOTIFY, OURS, group="todoke"),
            Variant(BARE, RAW, group="bare"),
            Variant(BARE_NOTIFY, RAW, group="bare"),
        ],
        events=0,
        unit="commits/s",
        yardstick="without wake-ups",
    )


def _memory() -> Scenario:
    return Scenario(
        "memory",
        "memory of one worker process",
        POSTGRESQL,
        "memory",
        [Variant(name, OURS) for name in (IDLE, PEAK)],
        events=100_000,
        unit="MB",
    )
