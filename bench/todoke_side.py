"""todoke as it is measured: fresh tables, publishing, and a worker in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any, TypeAlias

from sqlalchemy import event as listening
from sqlalchemy import text
from sqlalchemy.orm import Session

from bench.child import Tally, Wish, timed, wait_for_go, wait_for_the_end
from bench.event import Measured, Ordered, events, key
from todoke import Settings, Todoke
from todoke.operate import LedgerEntry, Replay
from todoke.runtime import Runtime, spare_the_collector


def prepare(wish: Wish) -> None:
    """Tables with a backlog, the same for todoke and for the raw loops."""
    app = application(wish)
    app.migrate()
    with app.engine.begin() as connection:
        connection.execute(text("CREATE TABLE effects (order_id INTEGER)"))
        if wish["events"]:
            app.publish_all(connection, _events(wish))
    app.close()


def application(wish: Wish) -> Todoke:
    app = Todoke(wish["url"], settings=Settings(wish.get("settings", {}), environment={}))
    if synchronous := wish.get("synchronous"):
        _synchronous(app, synchronous)
    with app.engine.connect():
        pass  # connected before it counts
    return app


def _synchronous(app: Todoke, level: str) -> None:
    """todoke's own connections say FULL; a listener that comes later has the last word."""

    def on_connect(connection: Any, _record: object) -> None:
        connection.execute(f"PRAGMA synchronous={level}")

    for engine in (app.engine, app.agents_engine):
        listening.listen(engine, "connect", on_connect)


def _events(wish: Wish) -> Iterator[Measured]:
    return events(wish["events"], ordered=wish.get("ordered", False), keys=wish.get("keys"))


# --- publishing ------------------------------------------------------------------------------


def publish(wish: Wish) -> None:
    app = application(wish)
    begin = HANDLES[wish.get("handle", "connection")]

    def one_by_one() -> None:
        with begin(app) as transaction:
            for event in _events(wish):
                with transaction() as handle:
                    app.publish(handle, event)

    timed(one_by_one)
    app.close()


def accept(wish: Wish) -> None:
    """A key, and the event that settles it, in one transaction."""
    app = application(wish)
    begin = HANDLES[wish.get("handle", "connection")]

    def one_by_one() -> None:
        with begin(app) as transaction:
            for number, event in enumerate(_events(wish)):
                with transaction() as handle:
                    answer = app.ledger.accept(handle, key(number), event)
                    app.publish(handle, event, settles=answer.entry)

    timed(one_by_one)
    app.close()


def repeat(wish: Wish) -> None:
    """The same request again, once it is settled."""
    settled_keys(wish)
    app = application(wish)
    begin = HANDLES[wish.get("handle", "connection")]

    def one_by_one() -> None:
        with begin(app) as transaction:
            for number, event in enumerate(_events(wish)):
                with transaction() as handle:
                    assert type(app.ledger.accept(handle, key(number), event)) is Replay

    timed(one_by_one)
    app.close()


def settled_keys(wish: Wish) -> list[LedgerEntry]:
    """Accepted and settled, with a response."""
    app, found = application(wish), list[LedgerEntry]()
    with app.engine.begin() as connection:
        for number, event in enumerate(_events(wish)):
            entry = app.ledger.accept(connection, key(number), event).entry
            found.append(app.ledger.succeed(connection, entry, {"order": number}, status_code=201))
    app.close()
    return found


def bulk(wish: Wish) -> None:
    app = application(wish)
    begin = HANDLES[wish.get("handle", "connection")]

    def many_at_once() -> None:
        waiting = _events(wish)
        with begin(app) as transaction:
            while some := list(islice(waiting, wish["each"])):
                with transaction() as handle:
                    app.publish_all(handle, some)

    timed(many_at_once)
    app.close()


@contextmanager
def _connection(app: Todoke) -> Iterator[Begin]:
    with app.engine.connect() as connection:

        @contextmanager
        def transaction() -> Iterator[Any]:
            with connection.begin():
                yield connection

        yield transaction


@contextmanager
def _session_each(app: Todoke) -> Iterator[Begin]:
    yield app.session


@contextmanager
def _driver(app: Todoke) -> Iterator[Begin]:
    """The connection that SQLAlchemy's engine opened, without SQLAlchemy."""
    with app.engine.connect() as opened:
        driver: Any = opened.connection.driver_connection

        @contextmanager
        def transaction() -> Iterator[Any]:
            if app.database.kind == "sqlite":
                driver.execute("BEGIN IMMEDIATE")
            yield driver
            driver.commit()

        yield transaction


Begin: TypeAlias = Callable[[], AbstractContextManager[Any]]
HANDLES: dict[str, Callable[[Todoke], AbstractContextManager[Begin]]] = {
    "connection": _connection,
    "session": _session_each,
    "driver": _driver,
}


# --- draining --------------------------------------------------------------------------------


def drain(wish: Wish) -> None:
    app = application(wish)
    HANDLERS[wish.get("handler", "async")](app, Tally(wish))
    runtime = Runtime(app)
    spare_the_collector()  # as `todoke worker` does
    wait_for_go()
    process = runtime.start()
    wait_for_the_end()
    process.stop(5)
    app.close()


def _async(app: Todoke, tally: Tally) -> None:
    @app.on(Measured, Ordered)
    async def nothing(event: Measured) -> None:
        tally.add()


def _thread(app: Todoke, tally: Tally) -> None:
    @app.on(Measured, Ordered)
    def nothing(event: Measured) -> None:
        tally.add_in_thread()


def _session(app: Todoke, tally: Tally) -> None:
    insert = text("INSERT INTO effects (order_id) VALUES (:order)")

    @app.on(Measured, Ordered)
    def effect(event: Measured, session: Session) -> None:
        tally.add_in_thread()
        session.execute(insert, {"order": event.order_id})


HANDLERS: dict[str, Callable[[Todoke, Tally], None]] = {
    "async": _async,
    "thread": _thread,
    "session": _session,
}
ROLES = {
    "prepare": prepare,
    "publish": publish,
    "bulk": bulk,
    "accept": accept,
    "repeat": repeat,
    "drain": drain,
}
