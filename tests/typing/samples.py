"""A program as users write it, with every call that has a type to keep; never run, only checked."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, assert_type

import aiosqlite
import asyncpg
import psycopg
from fastapi import Depends, FastAPI, Response
from pydantic import BaseModel
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

from todoke import (
    Attempt,
    Backoff,
    Breaker,
    Context,
    Done,
    Event,
    Job,
    Key,
    Limit,
    Message,
    Outcome,
    Personal,
    Rate,
    Reject,
    Retry,
    Run,
    Settings,
    Skip,
    Snooze,
    Todoke,
    Unique,
    batch,
    chain,
)
from todoke.fastapi import Once, idempotent, install, outcome_of
from todoke.operate import DeadLetter, EventRecord, Finding, LedgerEntry
from todoke.types import Answer, CallNext, ErrorClass, JobRef

app = Todoke("sqlite:///shop.db", settings=Settings({"env": "dev"}))
ordering = Context("ordering", modules=["handlers"], retry=Backoff("1s", timedelta(seconds=2)))
app.include(ordering)


class Placed(Event, context="ordering", aggregate="order", version=2):
    order_id: Key[int]
    mail: Personal[str] | None = None


class Cancelled(Event):
    order_id: Key[int]


class Shipped(Event, ordered=False):
    order_id: int


class Stored(Event, ordered=False):
    article: str


class Counted(Event, ordered=False):
    article: str


class Mailer:
    async def send(self, address: str, key: str) -> None: ...


# --- handlers --------------------------------------------------------------------------------


@app.on(Placed)
def nothing(event: Placed) -> None: ...


@ordering.on(Placed, name="order-mail", retry="mail", timeout="20s", on_crash="ask")
async def send_mail(event: Placed, mailer: Mailer, attempt: Attempt) -> Outcome | None:
    if event.mail is None:
        return Skip("guest order")
    if attempt.number > 3:
        return Reject("no such address", code="NO_ADDRESS")
    await mailer.send(event.mail, key=attempt.idempotency_key)
    return Snooze(datetime(2026, 1, 1, tzinfo=UTC)) if event.order_id == 1 else None


@app.on(Placed, Cancelled, publishes=[Shipped], followers="skip", queue="files")
def either(event: Placed | Cancelled, session: Session) -> list[Shipped]:
    return [Shipped(order_id=event.order_id)]


@app.on(Placed, Cancelled, Shipped, limit=[Limit(4), Rate(100, "1m")], breaker=Breaker("psp"))
async def three(event: Placed | Cancelled | Shipped, session: AsyncSession) -> Shipped | Retry:
    return Retry(after="5s") if event.order_id == 1 else Shipped(order_id=event.order_id)


@app.on(Placed, Cancelled, Shipped, Stored)
def four(event: Event, message: Message[Event]) -> Done:
    return Done(message.id)


@app.on(Placed, Cancelled, Shipped, Stored, Counted)
def five(event: Event) -> tuple[Event, ...]:
    return (event,)


def answer() -> Answer:
    return [Stored(article="book")]


nothing(Placed(order_id=1))
assert_type(either(Placed(order_id=1), session=Session()), list[Shipped])


async def a_handler_is_still_itself() -> None:
    tried: Any = ...
    assert_type(await send_mail(Placed(order_id=1), Mailer(), attempt=tried), Outcome | None)


# --- providers, middleware, classes of errors ------------------------------------------------


@app.provide
async def mailer(settings: Settings) -> AsyncIterator[Mailer]:
    yield Mailer()


@ordering.provide(scope="attempt")
def basket() -> Iterator[list[str]]:
    yield []


@app.middleware
async def timed(attempt: Attempt, call_next: CallNext) -> Outcome:
    return await call_next(attempt)


def judge(error: OSError) -> ErrorClass:
    return "permanent" if error.errno else "transient"


assert_type(mailer(Settings()), AsyncIterator[Mailer])
assert_type(basket(), Iterator[list[str]])
ordering.classify(KeyError, "permanent")
ordering.classify(OSError, judge)
ordering.classify(ConnectionError, lambda error: "timeout" if error.errno else "business")


# --- publishing ------------------------------------------------------------------------------


def on_sync(session: Session, connection: Connection) -> None:
    assert_type(ordering.publish(session, Placed(order_id=1)), Message[Placed])
    assert_type(app.publish(connection, Placed(order_id=1), delay="10m").data.order_id, int)
    app.publish(session, Placed(order_id=1), expires="1d", headers={"a": "b"}, locked=True)
    app.publish(session, Placed(order_id=1), delay=datetime.now(UTC))
    assert_type(app.publish_all(session, [Stored(article="a")]), list[Message[Any]])


async def on_async(session: AsyncSession, connection: AsyncConnection) -> None:
    assert_type(ordering.publish(session, Placed(order_id=1)), Message[Placed])
    assert_type(await app.publish(connection, Placed(order_id=1)), Message[Placed])
    await app.publish_all(connection, [Placed(order_id=1), Stored(article="a")])


# --- operating -------------------------------------------------------------------------------


def look(session: Session) -> None:
    assert_type(app.dead_letters.list(session).items, list[DeadLetter])
    assert_type(app.events.list(session, type="placed"), Sequence[EventRecord])
    assert_type(app.doctor(), list[Finding])
    assert_type(app.check("names.json"), list[Finding])
    with app.session() as own:
        assert_type(own, Session)


async def look_async(session: AsyncSession) -> None:
    assert_type((await app.dead_letters.list(session)).items, list[DeadLetter])
    async with app.async_session() as own:
        assert_type(own, AsyncSession)
    await app.adrain()


def on_drivers(pg: psycopg.Connection[Any], lite: sqlite3.Connection) -> None:
    assert_type(app.publish(pg, Placed(order_id=1)), Message[Placed])
    assert_type(app.publish(lite, Placed(order_id=1)), Message[Placed])


async def on_async_drivers(
    pg: psycopg.AsyncConnection[Any], apg: asyncpg.Connection[Any], lite: aiosqlite.Connection
) -> None:
    assert_type(await app.publish(pg, Placed(order_id=1)), Message[Placed])
    assert_type(await app.publish(apg, Placed(order_id=1)), Message[Placed])
    assert_type(await app.publish(lite, Placed(order_id=1)), Message[Placed])


# --- requests with a key ---------------------------------------------------------------------

web = FastAPI(lifespan=app.lifespan)
install(web, app)
Idempotent = Annotated[Once, Depends(idempotent(app, field="id", caller=lambda _: "desk 7"))]


@web.post("/orders")
async def place_once(body: dict[str, str], once: Idempotent) -> Response:
    async with app.async_session() as session:
        entry = await once.accept(session, body)
        assert_type(entry, LedgerEntry)
        app.publish(session, Placed(order_id=1), settles=entry)
    async with once.begin(body) as own:
        assert_type(own, AsyncSession)
        return once.answer({"key": once.key}, status_code=201)


@web.post("/orders/plainly")
def place_plainly(body: dict[str, str], once: Idempotent) -> Response:
    with app.session() as session:
        assert_type(once.accept(session, body), LedgerEntry)
    with once.begin(body) as own:
        assert_type(own, Session)
        return once.answer(outcome_of(once.entry))


# --- jobs ------------------------------------------------------------------------------------


class Export(BaseModel):
    day: str


@app.job(limit=Limit(1, per="day"))
def export(argument: Export, session: Session, run: Run) -> Path:
    for number in run.track([1, 2]):
        assert_type(number, int)
    return Path(argument.day)


@app.job()
async def put(name: str) -> int | Snooze:
    return len(name)


@app.job(executor="process")
def bare(run: Run) -> None: ...


assert_type(export, Job[Export, Path])
assert_type(put, Job[str, int])
assert_type(bare, Job[None, None])
app.schedule(bare, cron="0 1 * * *", tz="Asia/Tokyo", missed="all", cap=5)
app.schedule(put, "name", every="5m")
app.schedule(export, lambda tick: Export(day=str(tick.due)), cron="0 1 * * *")


def enqueue(session: Session, connection: Connection) -> None:
    assert_type(export.enqueue(session, Export(day="")), JobRef[Path])
    assert_type(bare.enqueue(connection, unique=Unique("key", repeat="raise")), JobRef[None])
    assert_type(put.enqueue_all(session, ["a", "b"]), list[JobRef[int]])
    assert_type(app.result(put.enqueue(session, "x"), timeout="1s"), int)
    app.enqueue(session, batch([put.bind("x")], then=bare.bind()))
    app.enqueue(session, chain(bare.bind(), put.bind("x")))


async def enqueue_async(connection: AsyncConnection, session: AsyncSession) -> None:
    assert_type(await put.enqueue(connection, "x"), JobRef[int])
    assert_type(put.enqueue(session, "x"), JobRef[int])
