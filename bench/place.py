"""The databases to measure in: private servers on a disk, a fresh database for every run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from sqlalchemy import NullPool, create_engine, make_url, text
from tests.servers.mariadb import mariadb_instance
from tests.servers.place import public_folder
from tests.servers.postgres import postgres_instance

Fresh: TypeAlias = Callable[[], AbstractContextManager[str]]
"""Makes a database, and drops it in the end."""
SYNCHRONOUS = {"sqlite-full": "FULL", "sqlite-normal": "NORMAL"}
DATABASES = {"postgresql": ["postgresql"], "sqlite": [*SYNCHRONOUS], "mariadb": ["mariadb"]}
"""By what they are called on the command line: SQLite is measured in two ways."""
TIDY = {
    "postgresql": ("VACUUM ANALYZE", "CHECKPOINT"),
    "sqlite-full": ("PRAGMA wal_checkpoint(TRUNCATE)",),
    "sqlite-normal": ("PRAGMA wal_checkpoint(TRUNCATE)",),
    "mariadb": ("ANALYZE TABLE todoke_outbox",),
}


@contextmanager
def place(database: str) -> Iterator[Fresh]:
    """A server of one's own, with durable settings."""
    if database == "postgresql":
        with postgres_instance() as server:
            yield server.database
    elif database == "mariadb":
        with mariadb_instance() as mariadb:
            yield mariadb.database
    else:
        yield _file


@contextmanager
def _file() -> Iterator[str]:
    with TemporaryDirectory(prefix="todoke-bench-", dir=public_folder()) as folder:
        yield f"sqlite:///{Path(folder) / 'todoke.db'}"


def tidy(url: str, database: str) -> None:
    """Statistics are known and nothing waits to be written: every run meets the same."""
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in TIDY[database]:
            connection.execute(text(statement))


def version(fresh: Fresh, database: str) -> str:
    function = "version()" if database in ("postgresql", "mariadb") else "sqlite_version()"
    with fresh() as url, create_engine(url, poolclass=NullPool).connect() as connection:
        return str(connection.scalar(text(f"SELECT {function}")))


def addresses(url: str, database: str) -> dict[str, Any]:
    """How a side finds the database: by SQLAlchemy, by PostgreSQL's own, and what kind it is."""
    if database == "postgresql":
        plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        return {"kind": "postgres", "url": url, "dsn": plain}
    if database == "mariadb":
        return {"kind": "mariadb", "url": url}
    return {"kind": "sqlite", "url": url, "synchronous": SYNCHRONOUS[database]}
