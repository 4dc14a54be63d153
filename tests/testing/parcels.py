"""A small application with jobs, as users have it: at module level."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from todoke import Backoff, Breaker, Rate, Run, Settings, Snooze, Todoke
from todoke.testing import Harness

tables = MetaData()
labels = Table("labels", tables, Column("parcel", Integer), Column("note", String(100)))


class Export(BaseModel):
    day: str
    carrier: str = "yamato"


class Carrier:
    """Notes the moments at which it was called."""

    def __init__(self, *, is_down: bool = False) -> None:
        self.is_down = is_down
        self.calls: list[str] = []

    def call(self) -> None:
        self.calls.append(f"{app.clock.now():%m-%d %H:%M:%S}")
        if self.is_down:
            raise ConnectionRefusedError("nobody answers")


app = Todoke(settings=Settings({"name": "parcels"}, environment={}))


@app.provide
def carrier() -> Carrier:
    return Carrier()


@app.job(aliases=["ship-out"])
def export(argument: Export, run: Run) -> str:
    for _ in run.track(range(3)):
        pass
    run.metric("bytes", 12.5)
    return f"{argument.day}.csv"


@app.job(retry=Backoff("10s", "1h"))
def call_carrier(parcel: int, carrier: Carrier) -> None:
    carrier.call()


@app.job()
def print_label(parcel: int, session: Session) -> None:
    session.execute(insert(labels).values(parcel=parcel, note="printed"))


@app.job()
async def print_copy(parcel: int, session: AsyncSession) -> None:
    await session.execute(insert(labels).values(parcel=parcel, note="copied"))


@app.job()
def tidy_up(run: Run, carrier: Carrier) -> None:
    carrier.call()


@app.job()
def print_all(run: Run) -> None:
    """Parcels 0 to 9 by chunks of four."""
    for session, parcels in run.chunks(_behind, cursor=lambda parcel: parcel, size=4):
        for parcel in parcels:
            session.execute(insert(labels).values(parcel=parcel, note="chunk"))


def _behind(_session: Session, after: int | None, size: int) -> list[int]:
    return [parcel for parcel in range(10) if after is None or parcel > after][:size]


@app.job()
async def copy_all(run: Run) -> None:
    async for session, parcels in run.chunks(_behind_async, cursor=lambda parcel: parcel, size=4):
        for parcel in parcels:
            await session.execute(insert(labels).values(parcel=parcel, note="chunk"))


async def _behind_async(session: Any, after: int | None, size: int) -> list[int]:
    return _behind(session, after, size)


@app.job(limit=Rate(2, "1m"))
def ask_politely(parcel: int, carrier: Carrier) -> None:
    carrier.call()


@app.job(breaker=Breaker(failures=1, rest="5m"), retry=Backoff("1s", attempts=10))
def ask_carefully(parcel: int, carrier: Carrier) -> None:
    carrier.call()


@app.job()
def wait_for_pickup(parcel: int, carrier: Carrier, run: Run) -> Snooze | None:
    carrier.call()
    return Snooze("6h") if len(carrier.calls) < 4 else None


def labelled(harness: Harness) -> list[int]:
    """Parcels that have a label, one for each of theirs."""
    with harness.session() as session:
        return list(session.scalars(select(labels.c.parcel).order_by(labels.c.parcel)))
