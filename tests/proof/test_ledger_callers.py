"""Many callers of one key at the same instant, through real HTTP and two server processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path

from httpx import AsyncClient, Limits, Response, Timeout
from sqlalchemy import Table, select

from tests.counts import Counts
from tests.examples.example import client
from tests.proof.order_desk import PATHS, build, metadata, orders, sends
from tests.servers.place import free_port
from tests.waiting import until
from tests.work.running import worker
from todoke import Todoke

Record = Callable[[str, object], None]
ROOT = Path(__file__).parents[2]

SERVERS, KEYS_AT_ONCE = 2, 4
TAKEN_BACK, REPEATED, ACCEPTED, REUSED = 418, 200, 202, 409


def test_of_many_callers_of_a_key_one_is_accepted_and_all_get_its_outcome(
    migrated_url: str, counts: Counts, record_property: Record
) -> None:
    """ID-2, ID-3: some send another body, some of the first are rolled back; no answer is a 5xx."""
    with desk(migrated_url) as app, servers(migrated_url) as ports:
        before = deadlocks(app)
        with worker(app):
            asked = asyncio.run(ask_all(ports, counts))
            until(lambda: not undone(app), 600)
        repeated = asyncio.run(repeat_all(ports, asked))
        fought = deadlocks(app) - before
        placed, sent = rows(app, orders), rows(app, sends)
    statuses = Counter(answer.status_code for each in asked for answer in each.answers.values())
    record_property("keys", len(asked))
    record_property("callers of each", counts.ledger_callers)
    record_property("answers", dict(sorted(statuses.items())))
    record_property("deadlocks that no caller saw", fought)
    assert set(statuses) == {REPEATED, ACCEPTED, REUSED, TAKEN_BACK}
    for each in asked:
        each.check()
    winners = {each.key: each.winner for each in asked}
    assert len(placed) == len(sent) == len(asked)
    assert dict(placed) == dict(sent) == winners
    for each in repeated:
        each.check_repeats(winners[each.key])


class Asked:
    """One key, the callers that asked under it, and what each was answered."""

    def __init__(self, number: int) -> None:
        self.key = f"key {number}"
        self.path = PATHS[number % len(PATHS)]
        self.answers: dict[tuple[int, str], Response] = {}

    def check(self) -> None:
        """One body won; who sent it was accepted or told of it, who sent another was refused."""
        definite = {
            (article, status)
            for (_, article), answer in self.answers.items()
            if (status := answer.status_code) != TAKEN_BACK
        }
        assert {article for article, status in definite if status < 300} == {self.winner}
        assert {status for article, status in definite if article == self.winner} <= {
            REPEATED,
            ACCEPTED,
        }
        assert {status for article, status in definite if article != self.winner} <= {REUSED}
        first = [one for one in self.answers.values() if is_first(one)]
        assert len(first) == 1

    @property
    def winner(self) -> str:
        return next(
            article
            for (_, article), answer in self.answers.items()
            if answer.status_code == ACCEPTED
        )

    def check_repeats(self, winner: str) -> None:
        """By now it is settled, and whoever sends the same gets the same, byte for byte."""
        contents: dict[str, set[bytes]] = {}
        for (_, article), answer in self.answers.items():
            expected = {REPEATED, ACCEPTED} if article == winner else {REUSED}
            assert answer.status_code in expected
            contents.setdefault(article, set()).add(answer.content)
        assert {len(same) for same in contents.values()} == {1}


def is_first(answer: Response) -> bool:
    return answer.status_code == ACCEPTED and "Idempotency-Replayed" not in answer.headers


# --- callers ---------------------------------------------------------------------------------


async def ask_all(ports: list[int], counts: Counts) -> list[Asked]:
    gate = asyncio.Semaphore(KEYS_AT_ONCE)

    async def ask(number: int) -> Asked:
        each = Asked(number)
        async with gate, asyncio.TaskGroup() as tasks:
            for caller in range(counts.ledger_callers):
                tasks.create_task(call(lines[caller], each, ports, caller))
        return each

    async with connected(counts.ledger_callers) as lines:
        return await asyncio.gather(*(ask(number) for number in range(counts.ledger_keys)))


async def repeat_all(ports: list[int], asked: list[Asked]) -> list[Asked]:
    repeated = [Asked(number) for number in range(len(asked))]
    async with connected(4) as lines:
        for each in repeated:
            async with asyncio.TaskGroup() as tasks:
                for caller in (0, 1, 3):
                    tasks.create_task(call(lines[caller], each, ports, caller, accidents=False))
    return repeated


async def call(
    http: AsyncClient, each: Asked, ports: list[int], caller: int, *, accidents: bool = True
) -> None:
    """Every fifth sends another body; of the others every fourth one's server has an accident."""
    article = "matcha" if caller % 5 == 3 else "sencha"
    headers = {"Idempotency-Key": each.key}
    if accidents and caller % 4 == 0:
        headers["X-Roll-Back"] = "yes"
    url = f"http://127.0.0.1:{ports[caller % len(ports)]}{each.path}"
    answer = await http.post(url, json={"article": article}, headers=headers)
    each.answers[caller, article] = answer


@asynccontextmanager
async def connected(callers: int) -> AsyncIterator[list[AsyncClient]]:
    """A client for each caller: one for all looks at each of its lines before each request."""
    # Without limits: what it has too many of is closed, also where a request is about to begin.
    every = Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=None)
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                AsyncClient(timeout=Timeout(120), limits=every, verify=False)  # noqa: S501
            )
            for _ in range(callers)
        ]


# --- servers ---------------------------------------------------------------------------------


@contextmanager
def desk(url: str) -> Iterator[Todoke]:
    with closing(build(url)) as app:
        metadata.create_all(app.engine)
        yield app


@contextmanager
def servers(url: str) -> Iterator[list[int]]:
    ports = [free_port() for _ in range(SERVERS)]
    with ExitStack() as stack:
        for port in ports:
            stack.enter_context(server(url, port))
        for port in ports:
            stack.enter_context(client(port))
        yield ports


@contextmanager
def server(url: str, port: int) -> Iterator[None]:
    command = ["uvicorn", "tests.proof.order_desk:web", "--port", str(port)]
    # Longer than any pause: a connection that rested is closed while a caller speaks on it.
    options = ["--log-level", "warning", "--timeout-keep-alive", "600"]
    process = subprocess.Popen(
        [sys.executable, "-m", *command, *options],
        cwd=ROOT,
        env={**os.environ, "ORDER_DESK": url},
    )
    try:
        yield
        assert process.poll() is None, "the server ended by itself"
    finally:
        process.terminate()
        process.wait(60)


# --- the database ----------------------------------------------------------------------------


def rows(app: Todoke, table: Table) -> list[tuple[str, str]]:
    with app.session() as session:
        found = session.execute(select(table.c.key, table.c.article)).all()
    return [(str(key), str(article)) for key, article in found]


def undone(app: Todoke) -> int:
    with app.session() as session:
        status = app.events.status(session)
    return status.pending + status.processing


DEADLOCKS = {
    "postgresql": "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()",
    "mariadb": "SELECT variable_value FROM information_schema.global_status "
    "WHERE variable_name = 'INNODB_DEADLOCKS'",
}


def deadlocks(app: Todoke) -> int:
    """How many the server has seen, of whoever."""
    asking = DEADLOCKS.get(app.database.kind)
    if asking is None:
        return 0
    with app.engine.connect() as connection:
        return int(connection.exec_driver_sql(asking).scalar() or 0)
