"""Which questions a database can answer to `todoke doctor`."""

from __future__ import annotations

from todoke.database import Database
from todoke.databases.health import Health
from todoke.databases.mariadb_health import MariaDbHealth
from todoke.databases.postgres_health import PostgresHealth
from todoke.databases.sqlite_health import SqliteHealth

_HEALTHS: dict[str, type[Health]] = {
    "mariadb": MariaDbHealth,
    "postgresql": PostgresHealth,
    "sqlite": SqliteHealth,
}


def health_of(database: Database) -> Health:
    return _HEALTHS[database.kind]()
