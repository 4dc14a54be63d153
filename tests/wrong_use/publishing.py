"""Publishing in wrong ways; types are left out on purpose, since people leave them out."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.orm import Session, sessionmaker

from tests.wrong_use.misuse import Keyless, Loose, Misuse, Named, Placed, ordering
from todoke import Context, Todoke
from todoke.errors import (
    ContextNotIncluded,
    InvalidEvent,
    InvalidOption,
    NotInTransaction,
    NullKey,
    OtherDatabase,
    Oversized,
    SchemaOutdated,
    TodokeError,
    UnknownEvent,
    Unserialisable,
)


def published(event: Any, **options: Any) -> Any:
    return lambda app: ordering(app, lambda session: app.publish(session, event, **options))


def forgotten_include(app: Todoke) -> None:
    forgotten = Context("forgotten")
    ordering(app, lambda session: forgotten.publish(session, Placed(order_id=1)))


def one_instead_of_many(app: Any) -> None:
    ordering(app, lambda session: app.publish_all(session, Placed(order_id=1)))


def one_of_many_is_wrong(app: Any) -> None:
    ordering(app, lambda session: app.publish_all(session, [Placed(order_id=1), Named(name="")]))


def on_an_engine(app: Any) -> None:
    ordering(app, lambda _: app.publish(app.engine, Placed(order_id=1)))


def on_a_session_factory(app: Any) -> None:
    ordering(app, lambda _: app.publish(sessionmaker(app.engine), Placed(order_id=1)))


def without_a_transaction(app: Any) -> None:
    ordering(app, lambda _: app.publish(Placed(order_id=1)))


def with_autocommit(app: Todoke) -> None:
    engine = app.engine.execution_options(isolation_level="AUTOCOMMIT")
    with Session(engine) as session:
        app.publish(session, Placed(order_id=1))
        session.commit()


def on_an_autocommitting_connection(app: Todoke) -> None:
    with app.engine.connect() as connection:
        alone = connection.execution_options(isolation_level="AUTOCOMMIT")
        app.publish(alone, Placed(order_id=1))


def in_another_database(app: Todoke) -> None:
    other = create_engine("sqlite:///elsewhere.db")
    try:
        with Session(other) as session:
            app.publish(session, Placed(order_id=1))
            session.commit()
    finally:
        other.dispose()
        assert not Path("elsewhere.db").exists()


def without_tables(app: Todoke) -> None:
    bare = Todoke("sqlite:///bare.db", settings=app.settings.with_values({}))
    try:
        with bare.session() as session:
            bare.publish(session, Placed(order_id=1))
    finally:
        bare.close()


def read_from_an_engine(app: Any) -> None:
    app.dead_letters.list(app.engine)


PUBLISHING = [
    Misuse(
        "publish of a context that was not included",
        forgotten_include,
        ContextNotIncluded,
        ("publish", "'forgotten'", "Call `app.include(forgotten)`"),
    ),
    Misuse(
        "a dictionary instead of an event",
        published({"mail": "hanako@example.com"}),
        UnknownEvent,
        ("dict is not an event", "Derive its class from todoke.Event"),
    ),
    Misuse(
        "the class instead of an instance",
        published(Placed),
        UnknownEvent,
        ("Placed is an event class", "Pass an instance: Placed(…)"),
    ),
    Misuse(
        "a key that is null",
        published(Named(name=None)),
        NullKey,
        ("publish(Named)", "its key `name` is empty", "Set `name` before publishing"),
    ),
    Misuse(
        "a key that is empty",
        published(Named(name="")),
        NullKey,
        ("publish(Named)", "its key `name` is empty", "flush first"),
    ),
    Misuse(
        "a key that is far too long",
        published(Named(name="x" * 256)),
        InvalidEvent,
        ("`name` has 256 characters", "the limit is 255", "Use the aggregate's id"),
    ),
    Misuse(
        "an event without a key",
        published(Keyless()),
        InvalidEvent,
        ("publish(Keyless)", "Mark the field of its aggregate", "`ordered=False`"),
    ),
    Misuse(
        "not a number",
        published(Loose(anything=float("nan"))),
        Unserialisable,
        ("publish(Loose)", "cannot be written as JSON", "Use text, whole numbers"),
    ),
    Misuse(
        "an object of the program",
        published(Loose(anything=object())),
        Unserialisable,
        ("publish(Loose)", "cannot be written as JSON", "Use text, whole numbers"),
    ),
    Misuse(
        "a body that is far too large",
        published(Loose(anything="x" * 2_000_000)),
        Oversized,
        ("publish(Loose)", "the limit is 1,048,576", "publish its id"),
    ),
    Misuse(
        "a delay without a unit",
        published(Placed(order_id=1), delay=5),
        InvalidOption,
        ("delay = 5", 'Write "5s"'),
    ),
    Misuse(
        "an expiry without a unit",
        published(Placed(order_id=1), expires=5),
        InvalidOption,
        ("expires = 5", 'Write "5s"'),
    ),
    Misuse(
        "a delay until a time without a zone",
        published(Placed(order_id=1), delay=datetime(2030, 1, 1)),  # noqa: DTZ001
        InvalidEvent,
        ("delay=2030-01-01", "without a zone", "Use datetime.now(UTC)"),
    ),
    Misuse(
        "a header that is no text",
        published(Placed(order_id=1), headers={"tenant": 7}),
        InvalidOption,
        ("publish(headers) = 'tenant'", "is int", "write both as text"),
    ),
    Misuse(
        "headers that are a list",
        published(Placed(order_id=1), headers=["tenant"]),
        InvalidOption,
        ("publish(headers) = 'list'", "pass a mapping"),
    ),
    Misuse(
        "a misspelt option of publish",
        published(Placed(order_id=1), dely="5s"),
        TypeError,
        ("publish()", "unexpected keyword argument 'dely'"),
    ),
    Misuse(
        "one event for publish_all",
        one_instead_of_many,
        InvalidOption,
        ("publish_all = 'Placed'", "Write [event], or `publish`"),
    ),
    Misuse(
        "one wrong event of many",
        one_of_many_is_wrong,
        NullKey,
        ("publish(Named)", "Set `name` before publishing"),
    ),
    Misuse(
        "publish on an engine",
        on_an_engine,
        TodokeError,
        ("publish(Placed) got Engine", "Pass the transaction your change is made in"),
    ),
    Misuse(
        "publish on a factory of sessions",
        on_a_session_factory,
        TodokeError,
        ("publish(Placed) got sessionmaker", "Pass the transaction your change is made in"),
    ),
    Misuse(
        "publish without a transaction",
        without_a_transaction,
        TypeError,
        ("publish()", "missing 1 required positional argument"),
    ),
    Misuse(
        "a Session that commits by itself",
        with_autocommit,
        NotInTransaction,
        ("publish(Placed) got a Session in autocommit mode", "without AUTOCOMMIT"),
    ),
    Misuse(
        "a Connection that commits by itself",
        on_an_autocommitting_connection,
        NotInTransaction,
        ("publish(Placed) got a connection in autocommit mode", "Use one without"),
    ),
    Misuse(
        "a Session on another database",
        in_another_database,
        OtherDatabase,
        ("publish(Placed) got a handle on sqlite:///elsewhere.db", "its own Todoke"),
    ),
    Misuse(
        "publish before todoke's tables are there",
        without_tables,
        SchemaOutdated,
        ("todoke's tables are missing", "Run `todoke migrate`"),
    ),
    Misuse(
        "dead letters read from an engine",
        read_from_an_engine,
        TodokeError,
        ("list got Engine", "Pass a SQLAlchemy Session"),
    ),
]
