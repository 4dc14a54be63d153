"""A tea shop on Flask: an order and its event are one commit, a worker reserves the tea."""

from __future__ import annotations

from typing import Any

import click
from flask import Flask, current_app, request
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    mapped_column,
    scoped_session,
    sessionmaker,
)

from todoke import Event, Key, Settings, Todoke
from todoke.flask import install

app = Todoke(settings=Settings.load().with_values({"name": "teashop"}))
session = scoped_session(sessionmaker(app.engine))  # what db.session is in Flask-SQLAlchemy


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    article: Mapped[str]
    shelf: Mapped[str | None]

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "article": self.article, "shelf": self.shelf}


class OrderPlaced(Event):
    order_id: Key[int]


@app.on(OrderPlaced)
def reserve(event: OrderPlaced, session: Session) -> None:
    order = session.get_one(Order, event.order_id)
    order.shelf = current_app.config["SHELF"]  # commits with the settling of the message


def create_web() -> Flask:
    web = Flask(__name__)
    web.config["SHELF"] = "counter"
    install(web, app)
    web.teardown_appcontext(let_go)
    web.add_url_rule("/orders", view_func=place, methods=["POST"])
    web.add_url_rule("/orders/<int:order_id>", view_func=show)
    web.cli.add_command(create_tables)
    return web


def let_go(_error: BaseException | None) -> None:
    session.remove()


def place() -> tuple[dict[str, Any], int]:
    order = Order(article=request.get_json()["article"], shelf=None)
    session.add(order)
    session.flush()  # the database draws the id
    app.publish(session, OrderPlaced(order_id=order.id))
    session.commit()
    return order.as_json(), 201


def show(order_id: int) -> tuple[dict[str, Any], int]:
    order = session.get(Order, order_id)
    return (order.as_json(), 200) if order else ({"error": "no such order"}, 404)


@click.command()
def create_tables() -> None:
    """Create the shop's own tables."""
    Base.metadata.create_all(app.engine)
