"""The raw loops over todoke's tables of jobs, on a bare driver: the yardstick.

They write what todoke does, a settled row that tells of its run, in as few statements as can be,
and leave out what a worker needs beyond that: leases, retries, deadlines, limits, what follows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from select import select
from time import monotonic_ns
from typing import Any

import psycopg

from bench.child import Tally, Wish, say, timed, wait_for_go, wait_for_the_end
from bench.jobs.todoke_side import declare_async
from bench.order import Order, chunks, orders
from bench.raw.postgres import Raw
from bench.raw.tables import Row, Tables, tables
from bench.todoke_side import application
from todoke.identity import Identities
from todoke.jobs.row import row_of

CHANNEL = "bench_jobs"


class RawJobs(Raw):
    """Claims, and settles each job along with its run."""

    def __init__(self, wish: Wish) -> None:
        app = application(wish)
        work = declare_async(app, lambda _: None)
        self.ids: Identities = app.identities
        self.row: Row = row_of(app.enqueuing.spec(work, Order(order_id=0)), self.ids.draw()).values
        names = _tables(wish["url"], app.jobs_table, self.row)
        app.close()
        super().__init__(wish, names)
        self._settle = _settle(names)

    def settle(self, ids: Sequence[int]) -> None:
        told = {"owner": self.owner, "ids": list(ids)}
        self._run(self._settle, told).fetchall()

    def enqueue(self, order: Order) -> None:
        self.publish(self._row_of(order))

    def enqueue_all(self, some: Sequence[Order]) -> None:
        self.publish_all([self._row_of(order) for order in some])

    def enqueue_and_notify(self, order: Order) -> None:
        with self._connection.transaction():
            self._run(self._insert, self._row_of(order))
            self._connection.execute(f"NOTIFY {CHANNEL}")

    def _row_of(self, order: Order) -> Row:
        id = self.ids.draw()
        own = {"message_id": id, "key": str(id), "body": order.model_dump_json()}
        return {**self.row, **own}


def _tables(url: str, jobs: Any, row: Row) -> Tables:
    columns = ", ".join(f'"{name}"' for name in row)
    named = replace(tables(url), live=jobs.live.fullname, history=jobs.history.fullname)
    return replace(named, row=row, columns=columns)


def _settle(tables: Tables) -> str:
    return f"""
    WITH gone AS (
        DELETE FROM {tables.live} WHERE id = ANY(%(ids)s) AND owner = %(owner)s AND attempt = 1
     RETURNING {tables.carried}, claimed_at)
    INSERT INTO {tables.history} ({tables.carried}, claimed_at, note, env, worker_name, settled_at)
    SELECT {tables.carried}, claimed_at, NULL, 'dev', 'raw', clock_timestamp() FROM gone
    RETURNING id"""


def enqueue(wish: Wish) -> None:
    with closing(RawJobs(wish)) as raw:

        def one_by_one() -> None:
            for order in orders(wish["events"]):
                raw.enqueue(order)

        timed(one_by_one)


def bulk(wish: Wish) -> None:
    with closing(RawJobs(wish)) as raw:

        def many_at_once() -> None:
            for some in chunks(orders(wish["events"]), wish["each"]):
                raw.enqueue_all(some)

        timed(many_at_once)


def drain(wish: Wish) -> None:
    tally = Tally(wish)
    with closing(RawJobs(wish)) as raw:
        wait_for_go()
        for found in _batches(raw, wish["batch"]):
            if wish.get("validates"):
                for _, body in found:
                    Order.model_validate_json(body)
            tally.add(len(found))
            raw.settle([number for number, _ in found])
        wait_for_the_end()


def worker(wish: Wish) -> None:
    """Wakes by NOTIFY, which is part of the producer's commit."""
    with (
        closing(RawJobs(wish)) as raw,
        closing(psycopg.connect(wish["dsn"], autocommit=True)) as ear,
    ):
        ear.execute(f"LISTEN {CHANNEL}")
        say("ready")
        while sys.stdin not in select([ear, sys.stdin], [], [])[0]:
            for _ in ear.notifies(timeout=0):
                pass
            for found in _batches(raw, 16):
                for _, body in found:
                    say(Order.model_validate_json(body).order_id, monotonic_ns())
                raw.settle([number for number, _ in found])


def producer(wish: Wish) -> None:
    with closing(RawJobs(wish)) as raw:
        say("ready")
        for line in sys.stdin:
            raw.enqueue_and_notify(Order(order_id=int(line)))
            say(int(line), monotonic_ns())


def _batches(raw: RawJobs, limit: int) -> Iterator[list[tuple[int, str]]]:
    while found := raw.claim(limit):
        yield found


ROLES = {
    "enqueue": enqueue,
    "bulk": bulk,
    "drain": drain,
    "worker": worker,
    "producer": producer,
}
