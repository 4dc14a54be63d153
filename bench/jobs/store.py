"""Where jobs wait: the database, or Redis for the peers that need one; how many are unfinished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import NullPool, create_engine, text

from bench.jobs.redis import EACH_SECOND, Redis, redis_instance
from bench.place import addresses
from bench.scenario import OURS, RAW, Variant

POSTGRESQL = "postgresql"
UNFINISHED = {
    OURS: "SELECT count(*) FROM todoke.jobs",
    RAW: "SELECT count(*) FROM todoke.jobs",
    "pgqueuer": "SELECT count(*) FROM pgqueuer",
    "procrastinate": ("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"),
    "chancy": "SELECT count(*) FROM chancy_jobs WHERE state NOT IN ('succeeded', 'failed')",
    "oban": "SELECT count(*) FROM oban_jobs WHERE state IN ('available', 'executing', 'scheduled')",
    "dbos": ("SELECT count(*) FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"),
}
IN_REDIS: dict[str, Callable[[Redis], int]] = {
    "dramatiq": lambda redis: redis.count("HLEN", "dramatiq:default.msgs"),
    "celery": lambda redis: redis.count("LLEN", "celery") + redis.count("HLEN", "unacked"),
}


@dataclass(frozen=True, slots=True)
class Store:
    addresses: dict[str, Any]
    """How a side finds it."""
    unfinished: Callable[[], int]


@contextmanager
def store(variant: Variant, url: str) -> Iterator[Store]:
    found = addresses(url, POSTGRESQL)
    if variant.side in IN_REDIS:
        count = IN_REDIS[variant.side]
        with redis_instance(variant.options.get("appendfsync", EACH_SECOND)) as redis:
            yield Store({**found, "redis": redis.url}, lambda: count(redis))
        return
    statement = text(UNFINISHED[variant.side])
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield Store(found, lambda: int(connection.execute(statement).scalar_one()))


def kept(url: str) -> tuple[int, int]:
    """How many jobs todoke's history holds, and how many runs."""
    asked = (
        "SELECT (SELECT count(*) FROM todoke.jobs_history), count(*) FROM todoke.job_run_history"
    )
    with create_engine(url, poolclass=NullPool).connect() as connection:
        jobs, runs = connection.execute(text(asked)).one()
    return int(jobs), int(runs)
