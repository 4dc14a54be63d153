"""Building an application in wrong ways: settings, contexts, databases."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine

from tests.servers.place import free_port
from tests.wrong_use.misuse import misuse
from todoke import Context, Settings, Todoke
from todoke.errors import InvalidOption, SchemaOutdated


def on(database: Any, **values: object) -> Todoke:
    said = {name.replace("__", "."): value for name, value in values.items()}
    return Todoke(database, settings=Settings(said, environment={}))


def bare(app: Todoke) -> None:
    other = on("sqlite:///bare.db")
    try:
        other.drain()
    finally:
        other.close()


def away(app: Todoke) -> None:
    other = on(f"postgresql://127.0.0.1:{free_port()}/shop")
    try:
        other.drain()
    finally:
        other.close()


def late_lease(app: Todoke) -> None:
    app.settings = app.settings.with_values({"lease.renew": "15s"})
    app.drain()


def twice(app: Todoke) -> None:
    app.include(Context("shop"), Context("shop"))


BUILDING = [
    misuse(
        "a misspelt setting",
        lambda _: Settings({"worker.thread": 4}),
        InvalidOption,
        "worker.thread",
        "Known: worker.contexts",
        "worker.threads",
    ),
    misuse(
        "a retry preset with a misspelt option",
        lambda _: Settings({"retry.mail.delay": ["1s"]}),
        InvalidOption,
        "retry.mail.delay",
        "write retry.<name>.delays|attempts",
    ),
    misuse(
        "a setting without a unit",
        lambda app: app.settings.with_values({"outbox.poll": 5}).seconds("outbox.poll"),
        InvalidOption,
        "outbox.poll = 5",
        'Write "5s"',
    ),
    misuse(
        "a lease that is renewed too late",
        late_lease,
        InvalidOption,
        "lease.renew = '15s'",
        "must be shorter than the lease, 15 s",
    ),
    misuse(
        "a context with a slash",
        lambda _: Context("shop/orders"),
        InvalidOption,
        "Context(name) = 'shop/orders'",
        'no "/"',
    ),
    misuse(
        "a context that is in already",
        twice,
        InvalidOption,
        "include = 'shop'",
        "a context of this name is in already",
    ),
    misuse(
        "a context by its name",
        lambda app: app.include("shop"),
        InvalidOption,
        "include = 'shop'",
        "pass the context itself",
    ),
    misuse(
        "a context whose module is not there",
        lambda app: app.include(Context("shop", modules=["handelrs"])),
        InvalidOption,
        "Context('shop', modules)",
        "handelrs",
        "there is no such module",
    ),
    misuse(
        "a database that todoke does not know",
        lambda _: on("oracle://db/shop"),
        InvalidOption,
        "database.url = 'oracle'",
        "todoke runs on mariadb, mysql, postgresql, sqlite",
    ),
    misuse(
        "a file instead of an address",
        lambda _: on("shop.db"),
        InvalidOption,
        "database.url",
        'Write "sqlite:///shop.db"',
    ),
    misuse(
        "an AsyncEngine",
        lambda _: on(create_async_engine("sqlite+aiosqlite:///shop.db")),
        InvalidOption,
        "Todoke(database) = 'AsyncEngine'",
        "for an AsyncEngine, its address",
    ),
    misuse(
        "a worker on a database in memory",
        lambda _: on("sqlite://").run(),
        InvalidOption,
        "database.url = 'sqlite://'",
        'Write "sqlite:///shop.db"',
    ),
    misuse(
        "async code on a database in memory",
        lambda _: on("sqlite://").async_engine,
        InvalidOption,
        "an in-memory database has no async side",
        "Use a file",
    ),
    misuse(
        "a worker before todoke's tables are there",
        bare,
        SchemaOutdated,
        "todoke's tables are missing",
        "Run `todoke migrate`",
    ),
    misuse(
        "a database that is away",
        away,
        OperationalError,
        "Connection refused",
        "Is the server running",
    ),
]
