"""A web application with keys: what the tests of FastAPI and Starlette ask."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel
from sqlalchemy import Column, Integer, MetaData, Table, Text, func, select
from starlette.responses import Response

from todoke import BusinessError, Done, Event, Key, PermanentError, Settings, Todoke
from todoke.fastapi import Once, idempotent, install
from todoke.operate import LedgerEntry

metadata = MetaData()
orders = Table(
    "orders",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("article", Text, nullable=False),
)


class Order(BaseModel):
    article: str
    quantity: int = 1
    price: Decimal = Decimal("1.50")
    client_order_id: str | None = None


class SendOrder(Event):
    key: Key[str]
    article: str


class OrderRefused(Event):
    article: Key[str]


@contextmanager
def shop(url: str, **settings: object) -> Iterator[Todoke]:
    """An application with a table of orders, whose handler sends."""
    given = {name.replace("__", "."): value for name, value in settings.items()}
    with closing(Todoke(url, settings=Settings(given, environment={}))) as app:
        metadata.create_all(app.engine)

        @app.on(SendOrder)
        def send(event: SendOrder) -> Done:
            if event.article == "unsendable":
                raise PermanentError("no such article", code="NO_SUCH_ARTICLE")
            return Done({"sent": event.article})

        yield app


def web_of(app: Todoke) -> FastAPI:
    web = FastAPI(lifespan=app.lifespan)
    install(web, app)
    caller = {"caller": lambda request: request.headers.get("X-Caller", "")}
    asked = Annotated[Once, Depends(idempotent(app, field="client_order_id", **caller))]

    @web.post("/do/order", status_code=202)
    async def do_order(order: Order, once: asked) -> dict[str, str]:
        async with app.async_session() as session:
            entry = await once.accept(session, order)
            await session.execute(orders.insert().values(article=order.article))
            app.publish(session, SendOrder(key=once.key, article=order.article), settles=entry)
            fail_if(order)
        return {"key": once.key}

    @web.post("/do/order/plainly", status_code=202)
    def do_order_plainly(order: Order, once: asked) -> dict[str, str]:
        with app.session() as session:
            entry = once.accept(session, order)
            session.execute(orders.insert().values(article=order.article))
            app.publish(session, SendOrder(key=once.key, article=order.article), settles=entry)
            fail_if(order)
        return {"key": once.key}

    @web.post("/orders")
    async def place(order: Order, once: asked) -> Response:
        async with once.begin(order) as session:
            inserted = orders.insert().values(article=order.article)
            await session.execute(inserted)
            fail_if(order)
            return once.answer({"article": order.article, "price": "1.50"}, status_code=201)

    @web.post("/orders/plainly")
    def place_plainly(order: Order, once: asked) -> Response:
        with once.begin(order) as session:
            session.execute(orders.insert().values(article=order.article))
            fail_if(order)
            return once.answer({"article": order.article, "price": "1.50"}, status_code=201)

    return web


def fail_if(order: Order) -> None:
    """Articles that cannot be had, each in its own way."""
    match order.article:
        case "unknown":
            raise HTTPException(404, "no such article")
        case "sold out":
            refused = OrderRefused(article=order.article)
            raise BusinessError("none is left", code="SOLD_OUT", publish=refused)
        case "broken":
            raise RuntimeError("the shop is on fire")


def placed(app: Todoke) -> int:
    with app.session() as session:
        return int(session.execute(select(func.count()).select_from(orders)).scalar_one())


def published(app: Todoke) -> list[str]:
    with app.session() as session:
        return sorted(one.type for one in app.events.list(session))


def entries(app: Todoke, **which: Any) -> list[LedgerEntry]:
    with app.session() as session:
        return app.ledger.list(session, **which)
