"""The databases todoke runs on; each answers what `database.Database` asks."""

from __future__ import annotations

from sqlalchemy import URL

from todoke.clock import Clock
from todoke.database import Database
from todoke.databases.mariadb import MariaDb
from todoke.databases.postgres import Postgres
from todoke.databases.sqlite import Sqlite
from todoke.errors import InvalidOption

KINDS: dict[str, type[Database]] = {
    "sqlite": Sqlite,
    "postgresql": Postgres,
    "mariadb": MariaDb,
    "mysql": MariaDb,
}


def open_database(url: URL, clock: Clock, *, schema: str, prefix: str) -> Database:
    kind = KINDS.get(url.get_backend_name())
    if kind is None:
        raise InvalidOption(
            "database.url", url.get_backend_name(), f"todoke runs on {', '.join(sorted(KINDS))}."
        )
    if kind is Postgres:
        return kind(clock, schema or None, "" if schema else prefix)
    return kind(clock, None, prefix)
