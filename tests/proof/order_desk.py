"""A web application for the proofs of the ledger: orders are accepted, and sent by a worker.

`uvicorn tests.proof.order_desk:web` serves the database that ORDER_DESK names.
"""

import os
from typing import Annotated

from fastapi import Depends, FastAPI, Header, Request
from pydantic import BaseModel
from sqlalchemy import Column, Insert, Integer, MetaData, String, Table
from sqlalchemy.orm import Session
from starlette.responses import Response

from todoke import Done, Event, Key, Settings, Todoke
from todoke.fastapi import Once, idempotent, install

metadata = MetaData()
orders = Table(
    "orders",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(100), nullable=False),
    Column("article", String(100), nullable=False),
)
sends = Table(
    "sends",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(100), nullable=False),
    Column("article", String(100), nullable=False),
)
PATHS = ("/accepted/async", "/accepted/plain", "/answered/async", "/answered/plain")
RolledBack = Annotated[str, Header(alias="X-Roll-Back")]


class Order(BaseModel):
    article: str


class SendOrder(Event):
    key: Key[str]
    article: str


def build(url: str) -> Todoke:
    app = Todoke(url, name="desk", settings=Settings(environment={}))

    @app.on(SendOrder)
    def send(event: SendOrder, session: Session) -> Done:
        session.execute(sends.insert().values(key=event.key, article=event.article))
        return Done({"sent": event.article})

    return app


def web_of(app: Todoke) -> FastAPI:
    """Four ways to be idempotent: accepted or answered at once, `async def` or `def`."""
    web = FastAPI(lifespan=app.lifespan)
    install(web, app)
    web.add_exception_handler(TakenBack, _taken_back)
    asked = Annotated[Once, Depends(idempotent(app))]

    @web.get("/")
    async def alive() -> None:
        pass

    @web.post("/accepted/async", status_code=202)
    async def accept_async(order: Order, once: asked, roll_back: RolledBack = "") -> str:
        async with app.async_session() as session:
            entry = await once.accept(session, order)
            await session.execute(_row(once, order))
            app.publish(session, SendOrder(key=once.key, article=order.article), settles=entry)
            _maybe(roll_back)
        return once.key

    @web.post("/accepted/plain", status_code=202)
    def accept_plain(order: Order, once: asked, roll_back: RolledBack = "") -> str:
        with app.session() as session:
            entry = once.accept(session, order)
            session.execute(_row(once, order))
            app.publish(session, SendOrder(key=once.key, article=order.article), settles=entry)
            _maybe(roll_back)
        return once.key

    @web.post("/answered/async")
    async def answer_async(order: Order, once: asked, roll_back: RolledBack = "") -> Response:
        async with once.begin(order) as session:
            await session.execute(_row(once, order))
            app.publish(session, SendOrder(key=once.key, article=order.article))
            _maybe(roll_back)
            return once.answer({"article": order.article}, status_code=202)

    @web.post("/answered/plain")
    def answer_plain(order: Order, once: asked, roll_back: RolledBack = "") -> Response:
        with once.begin(order) as session:
            session.execute(_row(once, order))
            app.publish(session, SendOrder(key=once.key, article=order.article))
            _maybe(roll_back)
            return once.answer({"article": order.article}, status_code=202)

    return web


class TakenBack(Exception):
    """An accident of the endpoint's own, which is no outcome of the request."""


async def _taken_back(request: Request, error: Exception) -> Response:
    return Response(status_code=418)


def _row(once: Once, order: Order) -> Insert:
    return orders.insert().values(key=once.key, article=order.article)


def _maybe(roll_back: str) -> None:
    if roll_back:
        raise TakenBack


if address := os.environ.get("ORDER_DESK"):
    web = web_of(build(address))
