"""A job that is counted by tenant, and processes that a test claims with by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, select

from tests.application import register
from todoke import Limit, Todoke, TransientError
from todoke.work.item import Item
from todoke.work.key_claim import Catch
from todoke.work.key_hands import KeyHands
from todoke.work.key_slots import KeySlots
from todoke.work.mark import BEGINNING, Place


class Errand(BaseModel):
    tenant: str
    number: int = 0


class Desk:
    """The job `serve`, of which so many run at once for each tenant."""

    def __init__(self, app: Todoke, at_once: int = 1, fails: Collection[str] = ()) -> None:
        self.app, self.served = app, list[str]()
        self.keys: KeySlots = app.job_room.key_slots
        self.live = app.jobs_table.live

        @app.job(limit=Limit(at_once, per="tenant"))
        def serve(errand: Errand) -> None:
            name = f"{errand.tenant}{errand.number}"
            self.served.append(name)
            if name in fails and self.served.count(name) == 1:
                raise TransientError("not the first time")

        self.job = serve
        self.stream = app.handlers.jobs["serve"].stream

    def enqueue(self, tenants: Sequence[str], *, priority: int = 0, first: int = 0) -> None:
        """One for each of these, numbered."""
        errands = [Errand(tenant=one, number=first + n) for n, one in enumerate(tenants)]
        with self.app.session() as session:
            self.job.enqueue_all(session, errands, priority=priority)

    def in_state(self, state: str, *, owned: bool = False) -> str:
        """Keys of rows in this state, the oldest first, in somebody's hands or not."""
        live = self.live
        is_owned = live.c.owner.is_not(None) if owned else live.c.owner.is_(None)
        wanted = select(live.c.key).where(live.c.state == state, is_owned).order_by(live.c.id)
        with self.app.engine.connect() as connection:
            return "".join(connection.execute(wanted).scalars())

    def taken(self) -> int:
        """How many slots are taken, of whichever keys."""
        with self.app.engine.connect() as connection:
            return len(connection.execute(select(self.keys.slots)).all())

    def change(self, statement: Any) -> None:
        with self.app.engine.begin() as connection:
            connection.execute(statement)

    def sweep(self) -> int:
        with self.app.engine.connect() as connection:
            return self.keys.sweep(connection)


class Process:
    """A registered process that claims when the test says so."""

    def __init__(self, desk: Desk, connection: Connection) -> None:
        self.desk, self.connection = desk, connection
        self.id = register(desk.app, 3600)
        self.hands = KeyHands(desk.keys)

    def claim(self, limit: int = 100, look: int | None = None, start: Place = BEGINNING) -> Catch:
        claims, stream = self.desk.app.job_room.key_claims, self.desk.stream
        catch = claims.take(self.connection, self.id, stream, limit, look or limit, start)
        self.hands.take(self.id, catch.items)
        return catch

    def claim_suspect(self) -> list[Item]:
        claims = self.desk.app.job_room.key_claims
        items = claims.take_suspect(self.connection, self.id, self.desk.stream)
        self.hands.take(self.id, items)
        return items

    def end(self, items: Sequence[Item]) -> None:
        """It is written that they are done; their slots are not freed yet."""
        with self.connection.begin():
            for item in items:
                gone = self.desk.live.delete().where(self.desk.live.c.id == item.id)
                self.connection.execute(gone)
        self.hands.let_go(self.id, items)

    def free(self) -> int:
        return len(self.hands.free(self.connection))

    def settle(self, items: Sequence[Item]) -> int:
        self.end(items)
        return self.free()


@contextmanager
def process(desk: Desk) -> Iterator[Process]:
    with desk.app.engine.connect() as connection:
        yield Process(desk, connection)


def keys(catch: Catch | Sequence[Item]) -> str:
    items = catch.items if isinstance(catch, Catch) else catch
    return "".join(item.key for item in items)
