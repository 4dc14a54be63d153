"""A tea shop on FastAPI: order and event are one commit, a worker inside reserves the tea."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from todoke import Event, Key, Settings, Todoke

app = Todoke(settings=Settings.load().with_values({"name": "teashop"}))


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    article: Mapped[str]
    status: Mapped[str] = mapped_column(default="placed")


class OrderPlaced(Event):
    order_id: Key[int]


@app.on(OrderPlaced)
async def reserve(event: OrderPlaced, session: AsyncSession) -> None:
    order = await session.get_one(Order, event.order_id)
    order.status = "reserved"  # commits with the settling of the message


web = FastAPI(title="Tea shop", lifespan=app.embedded)


async def transaction() -> AsyncIterator[AsyncSession]:
    async with AsyncSession(app.async_engine, expire_on_commit=False) as session:
        yield session


Transaction = Annotated[AsyncSession, Depends(transaction)]


class NewOrder(BaseModel):
    article: str


class OrderView(BaseModel, from_attributes=True):
    id: int
    article: str
    status: Literal["placed", "reserved"]


@web.post("/orders", status_code=201)
async def place(new: NewOrder, session: Transaction) -> OrderView:
    order = Order(article=new.article)
    session.add(order)
    await session.flush()  # the database draws the id
    app.publish(session, OrderPlaced(order_id=order.id))
    await session.commit()  # the order and its event, before the answer leaves
    return OrderView.model_validate(order)


@web.get("/orders/{order_id}")
async def show(order_id: int, session: Transaction) -> OrderView:
    if (order := await session.get(Order, order_id)) is None:
        raise HTTPException(404)
    return OrderView.model_validate(order)


if __name__ == "__main__":
    app.migrate()
    Base.metadata.create_all(app.engine)
    app.close()
