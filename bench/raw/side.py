"""The raw loops: the same claim and settle as todoke's on a bare driver; the yardstick.

They leave out what a worker needs beyond that: leases, wake-ups, retries, order, deadlines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from importlib import import_module
from itertools import islice
from queue import SimpleQueue
from typing import Any, Protocol
from uuid import UUID

from bench.child import Tally, Wish, timed, wait_for_go, wait_for_the_end
from bench.event import Measured, events
from bench.raw.tables import Row, Tables, entries, rows, tables
from bench.todoke_side import settled_keys


class Raw(Protocol):
    """One connection of a bare driver."""

    def close(self) -> None: ...

    def claim(self, limit: int) -> list[tuple[int, str]]: ...

    def settle(self, ids: Sequence[int]) -> None: ...

    def publish(self, row: Row) -> None: ...

    def publish_all(self, rows: Sequence[Row]) -> None: ...

    def accept(self, entry: Row, row: Row) -> None: ...

    def find(self, entry: UUID) -> Any: ...


def connect(wish: Wish, names: Tables) -> Raw:
    raw: Raw = import_module(f"bench.raw.{wish['kind']}").Raw(wish, names)
    return raw


def publish(wish: Wish) -> None:
    names = tables(wish["url"])
    with closing(connect(wish, names)) as raw:

        def one_by_one() -> None:
            for row in rows(names.row, events(wish["events"])):
                raw.publish(row)

        timed(one_by_one)


def accept(wish: Wish) -> None:
    """A row of the ledger and one of the outbox, one after the other, in one transaction."""
    names = tables(wish["url"])
    with closing(connect(wish, names)) as raw:

        def one_by_one() -> None:
            for entry, row in entries(names.entry, rows(names.row, events(wish["events"]))):
                raw.accept(entry, row)

        timed(one_by_one)


def repeat(wish: Wish) -> None:
    """A look at the ledger, in a transaction."""
    known = [entry.id for entry in settled_keys(wish)]
    with closing(connect(wish, tables(wish["url"]))) as raw:

        def one_by_one() -> None:
            for entry in known:
                assert raw.find(entry) is not None

        timed(one_by_one)


def bulk(wish: Wish) -> None:
    names = tables(wish["url"])
    with closing(connect(wish, names)) as raw:

        def many_at_once() -> None:
            for some in _chunks(rows(names.row, events(wish["events"])), wish["each"]):
                raw.publish_all(some)

        timed(many_at_once)


def drain(wish: Wish) -> None:
    tally = Tally(wish)
    with closing(connect(wish, tables(wish["url"]))) as raw:
        wait_for_go()
        while found := raw.claim(wish["batch"]):
            if wish.get("validates"):
                for _, body in found:
                    Measured.model_validate_json(body)
            tally.add(len(found))
            raw.settle([number for number, _ in found])
        wait_for_the_end()


def drain_with_effects(wish: Wish) -> None:
    """One claims, as many threads as there are connections settle, each in its transaction."""
    names, tally = tables(wish["url"]), Tally(wish)
    waiting: SimpleQueue[tuple[int, str] | None] = SimpleQueue()

    def work(raw: Any, owner: Any) -> None:
        while found := waiting.get():
            number, body = found
            order = Measured.model_validate_json(body).order_id
            tally.add_in_thread()
            raw.settle_with_effect(number, order, owner)

    with ExitStack() as open_until_the_end:
        several: list[Any] = [  # PostgreSQL's, which settle with an effect, too
            open_until_the_end.enter_context(closing(connect(wish, names)))
            for _ in range(wish["connections"] + 1)
        ]
        claimer, *others = several
        wait_for_go()
        with ThreadPoolExecutor(len(others)) as threads:
            working = [threads.submit(work, raw, claimer.owner) for raw in others]
            while found := claimer.claim(wish["batch"]):
                for one in found:
                    waiting.put(one)
            for _ in others:
                waiting.put(None)
            for one_thread in working:
                one_thread.result()
        wait_for_the_end()


def _chunks(many: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while some := list(islice(many, size)):
        yield some


ROLES = {
    "publish": publish,
    "bulk": bulk,
    "accept": accept,
    "repeat": repeat,
    "drain": drain,
    "drain_with_effects": drain_with_effects,
}
