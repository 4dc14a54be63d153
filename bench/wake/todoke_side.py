"""todoke's side of the wake-up benchmark: `python -m bench.wake.todoke_side ROLE URL …`, by lines.

worker URL [quiet]          says "ready", then "NUMBER NANOSECONDS" for each event it handles
producer URL                reads "NUMBER HOLD", holds the transaction open for so many seconds,
                            commits, and answers "NUMBER NANOSECONDS" of the commit's return
flood URL VARIANT SECONDS   says "ready", waits for a line, commits as fast as it can, says how many
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic, monotonic_ns, sleep

from sqlalchemy import Connection, text

from bench.child import say
from bench.event import Measured
from todoke import Settings, Todoke
from todoke.bell import NullBell
from todoke.databases.postgres_bell import channel_of
from todoke.runtime import Runtime

POLLING, BELL, NOTIFY = "polling", "bell", "NOTIFY in every commit"
BARE, BARE_NOTIFY = "bare INSERT", "bare INSERT, NOTIFY in every commit"
"""Without todoke, into a table of two columns: what NOTIFY costs at most on this machine."""


def main() -> None:
    role, url, *details = sys.argv[1:]
    app = Todoke(url, settings=Settings({}, environment={}))
    roles: dict[str, Callable[..., None]] = {"worker": work, "producer": produce, "flood": flood}
    roles[role](app, *details)
    app.close()


def command(role: str, url: str, *details: object) -> list[str]:
    """How to start such a process."""
    return [sys.executable, "-m", "bench.wake.todoke_side", role, url, *map(str, details)]


def prepare(url: str) -> None:
    """Empty tables, and a bare one."""
    app = Todoke(url, settings=Settings({}, environment={}))
    app.migrate()
    with app.engine.begin() as connection:
        connection.execute(text("CREATE TABLE todoke.bare (id bigserial PRIMARY KEY, body text)"))
    app.close()


def work(app: Todoke, quiet: str = "") -> None:
    @app.on(Measured)
    async def note(event: Measured) -> None:
        if not quiet:
            say(event.order_id, monotonic_ns())

    process = Runtime(app).start()
    say("ready")
    sys.stdin.read()
    process.stop(5)


def produce(app: Todoke) -> None:
    say("ready")
    with app.engine.connect() as connection:
        for line in sys.stdin:
            number, hold = line.split()
            app.publish(connection, Measured(order_id=int(number)))
            if float(hold):
                sleep(float(hold))
            connection.commit()
            say(number, monotonic_ns())


def flood(app: Todoke, variant: str, seconds: str) -> None:
    if variant != BELL:
        app.bell = NullBell()
    committed = 0
    with app.engine.connect() as connection:
        commit_one(app, connection, variant, 0)
        say("ready")
        sys.stdin.readline()
        end = monotonic() + float(seconds)
        while monotonic() < end:
            committed += 1
            commit_one(app, connection, variant, committed)
    say(committed)


def commit_one(app: Todoke, connection: Connection, variant: str, number: int) -> None:
    if variant in (BARE, BARE_NOTIFY):
        connection.exec_driver_sql("INSERT INTO todoke.bare (body) VALUES ('x')")
    else:
        app.publish(connection, Measured(order_id=number))
    if variant in (NOTIFY, BARE_NOTIFY):
        channel = channel_of(app.database.schema, app.database.prefix)
        values = {"channel": channel, "hint": "event:ordered:todoke/default"}
        connection.exec_driver_sql("SELECT pg_notify(%(channel)s, %(hint)s)", values)
    connection.commit()


if __name__ == "__main__":
    main()
