"""What todoke asks of a database, where databases differ; `databases/` holds the answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    DateTime,
    Dialect,
    Engine,
    MetaData,
    Select,
    Table,
    Text,
    Uuid,
    bindparam,
    delete,
    select,
)
from sqlalchemy.dialects.mysql import DATETIME, LONGTEXT
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.sql import ColumnElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from todoke.clock import Clock, SystemClock
from todoke.writing import Copier, Execute

# MariaDB by both of the names an address may give it.
MARIADB = ("mariadb", "mysql")

# What is merely TEXT ends at 64 KiB there.
LONG_TEXT = Text().with_variant(LONGTEXT(), *MARIADB)
# Its own UUID type came with 10.7 only; text is the same in every release.
UNIQUE_ID = Uuid().with_variant(Uuid(native_uuid=False), *MARIADB)


_HERE = frozenset({"", "localhost", "127.0.0.1", "::1"})

READ_ONLY = "todoke_read_only"
"""Execution option: this transaction need not wait for the one writer."""


class Moment(TypeDecorator[datetime]):
    """A point in time: aware and UTC in Python, whatever the database keeps."""

    impl: DateTime = DateTime(timezone=True)
    cache_ok: bool = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return _stored_moment(dialect)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone. Use datetime.now(UTC).")
        moment = value.astimezone(UTC)
        return moment if dialect.name == "postgresql" else moment.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, str):  # MariaDB answers a bound moment as the text it was sent as
            value = datetime.fromisoformat(value)
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        if dialect.name == "sqlite":
            return _moment_of
        return super().result_processor(dialect, coltype)


@lru_cache(maxsize=1024)
def _moment_of(text: str | None) -> datetime | None:
    """SQLite keeps texts, and the same one in each row of a claim."""
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


class FromNow(TypeDecorator[datetime]):
    """Seconds from now, bound as a moment of a clock that tests hold in their hands."""

    impl: DateTime = DateTime(timezone=True)
    cache_ok: bool = True

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return _stored_moment(dialect)

    def process_bind_param(self, value: Any, dialect: Dialect) -> datetime | None:
        moment = self.clock.now() + timedelta(seconds=value)
        return Moment().process_bind_param(moment, dialect)


def _stored_moment(dialect: Dialect) -> TypeEngine[Any]:
    # MariaDB keeps whole seconds unless told otherwise.
    kept = DATETIME(fsp=6) if dialect.name in MARIADB else DateTime(timezone=True)
    return dialect.type_descriptor(kept)


class Database(ABC):
    """One kind of database: its names, its time, its locks, its faults."""

    kind: str
    one_writer = False
    """Only one transaction writes at a time, so more session handlers at once gain nothing."""
    returns_updates = True
    """`UPDATE … RETURNING` exists: a claim is one statement."""
    begins_anywhere = False
    """A claim can begin behind a row, without passing by those before it."""
    moves_at_once = False
    """A row can be deleted and inserted elsewhere by one statement."""
    partial_indexes = True
    """An index can be of some rows only; elsewhere the state becomes its first column."""
    prepares = True
    """Statements are prepared on the server, which a pooler in transaction mode may not bear."""
    shortest_poll: float | None = None
    """Where nobody rings: how soon a worker that had work looks again."""
    lanes_at_once = 64
    """How many lanes one claim looks into."""
    lanes_are_one_parameter = True
    """A claim's text is the same for any number of lanes; elsewhere each is a parameter."""

    def __init__(self, clock: Clock, schema: str | None, prefix: str) -> None:
        self.clock: Clock = clock
        self.schema: str | None = schema
        self.prefix: str = prefix
        self._tests_clock = not isinstance(clock, SystemClock)

    @property
    def version_table(self) -> str:
        """Where Alembic notes the revision: one for each prefix, since they are migrated apart.

        It says whose it is, for `shop_version` may be the application's own.
        """
        return f"{self.prefix.removesuffix('todoke_')}todoke_version"

    @property
    def now(self) -> ColumnElement[datetime]:
        """The database's time; a bound value where a test holds the clock."""
        if self._tests_clock:
            return bindparam(None, callable_=self.clock.now, type_=Moment(), unique=True)
        return self._now()

    @property
    def own_time(self) -> ColumnElement[datetime]:
        """The database's time, whoever holds the clock."""
        return self._now()

    def after(self, parameter: str) -> ColumnElement[datetime]:
        """The database's time so many seconds from now, bound under this name."""
        if self._tests_clock:
            return bindparam(parameter, type_=FromNow(self.clock))
        return self._after(parameter)

    @staticmethod
    def once(moment: ColumnElement[datetime]) -> ColumnElement[datetime]:
        """A moment computed once: what changes from row to row no index can be asked for."""
        return select(moment).scalar_subquery()

    @abstractmethod
    def engine(self, url: URL, pool_size: int, patience: float = 30.0) -> Engine:
        """An engine with durable settings; patience is how long to wait for the one writer."""

    def agents_engine(self, url: URL, idle: float) -> Engine:
        """Connections for the worker's agents, who do not wait long for the one writer.

        Where there is a server, it ends those that leave a transaction open and say nothing for so
        many seconds: their process stands still, and others need what it has locked.
        """
        return self.engine(url, pool_size=5, patience=1.0)

    @abstractmethod
    def async_engine(self, url: URL, pool_size: int) -> AsyncEngine:
        """The same for async code."""

    @abstractmethod
    def adopt(self, engine: Engine) -> Engine:
        """The user's own engine, with the settings the worker relies on."""

    def declare(self, metadata: MetaData) -> None:  # noqa: B027
        """Tables that only this kind of database needs; most need none."""

    @contextmanager
    def one_migration(self, engine: Engine) -> Iterator[Connection]:
        """A transaction that no other migration runs beside."""
        with engine.begin() as connection:
            yield connection

    @abstractmethod
    def _now(self) -> ColumnElement[datetime]: ...

    @abstractmethod
    def _after(self, parameter: str) -> ColumnElement[datetime]: ...

    @abstractmethod
    def among(self, column: ColumnElement[int], parameter: str) -> ColumnElement[bool]:
        """The column's value is in the list bound under this name."""

    def address(self, table: Table) -> ColumnElement[Any]:
        """How a statement that has found a row names it to itself."""
        return table.c.id

    def others_committed(self, connection: Connection) -> bool:
        """Since this was last asked, somebody has on another connection; True where none can tell.

        Asked outside of a transaction.
        """
        return True

    def copier(self, connection: Connection) -> Copier | None:
        """Streams many rows into a table; None where they are to be inserted."""
        return None

    @abstractmethod
    def chosen(self, column: ColumnElement[Any], subquery: Any) -> ColumnElement[bool]:
        """The column's value is in a subquery that was run once."""

    @abstractmethod
    def first_of_each(self, lane: Any, rows: Select[Any], limit: str, lanes: int) -> Select[Any]:
        """The first rows of each of so many lanes: numbers bound under "lanes", up to `limit` each.

        `rows` is in its order already, and not limited to a lane yet.
        """

    def bound_lanes(self, lanes: Sequence[int]) -> dict[str, Any]:
        """The parameters that `first_of_each` reads lanes from."""
        return {"lanes": list(lanes)}

    @abstractmethod
    def upsert(self, table: Table, key: str, values: Mapping[str, Any]) -> Any:
        """Insert a row of these values, or give the row of the same key these values."""

    @abstractmethod
    def add_missing(self, table: Table) -> Any:
        """Insert rows; those whose key is there already stay as they are."""

    def lock_by_id(self, rows: Select[Any], table: Table) -> Select[Any]:
        """Lock rows that are chosen by id, and no others; those locked already are left out."""
        return rows.with_for_update(skip_locked=True)

    def delete_rows(self, connection: Connection, table: Table, ids: Sequence[Any]) -> None:
        """Delete rows by id; waits for nobody who has locked another row."""
        connection.execute(delete(table).where(table.c.id.in_(ids)))

    @abstractmethod
    def lock_strands(self, strands: Sequence[int]) -> Execute | None:
        """What lets nobody else publish to these strands until the transaction ends.

        Ids of one strand are then drawn in the order of commits. Where one transaction writes at
        a time they are anyway.
        """

    def fetch(
        self, connection: Connection, statement: Any, values: Mapping[str, Any]
    ) -> Sequence[Sequence[Any]]:
        """The rows of a statement that is a transaction by itself."""
        with connection.begin():
            return connection.execute(statement, values).all()

    def fetch_within(
        self, connection: Connection, statement: Any, values: Mapping[str, Any]
    ) -> Sequence[Sequence[Any]]:
        """The rows of a statement in the connection's transaction."""
        return connection.execute(statement, values).all()

    @abstractmethod
    def break_off(self, connection: Connection, victim: Any) -> None:
        """End another session's transaction: its handler was given up."""

    @abstractmethod
    def session_mark(self, connection: Connection) -> Any:
        """What `break_off` needs to know about a session."""

    @abstractmethod
    def is_autocommit(self, connection: Connection) -> bool: ...

    @abstractmethod
    def passes(self, error: BaseException) -> bool:
        """A deadlock, a serialisation failure, a lock time-out: running it again may succeed."""

    def is_victim(self, error: BaseException) -> bool:
        """The server has taken the whole transaction back, to end a deadlock or for its order."""
        return False

    def is_untouched(self, connection: Connection) -> bool:
        """Its transaction has not reached the server yet; False where none can tell."""
        return False

    @abstractmethod
    def lacks_table(self, error: BaseException) -> bool:
        """A driver's own error: a statement named a table that is not there."""

    def is_lost(self, error: BaseException) -> bool:
        """The database is away or the connection broke."""
        return isinstance(error, DBAPIError) and (
            error.connection_invalidated or isinstance(error, OperationalError)
        )


def of_driver(error: BaseException) -> BaseException:
    """The driver's own error, behind SQLAlchemy's or Django's."""
    return getattr(error, "orig", None) or error.__cause__ or error


@contextmanager
def reading(connection: Connection) -> Iterator[None]:
    """A transaction that only reads, so that it waits for no writer."""
    connection.execution_options(**{READ_ONLY: True})
    try:
        with connection.begin():
            yield
    finally:
        connection.execution_options(**{READ_ONLY: False})


def safe_url(url: URL) -> str:
    """A URL that may be shown: no password, no user, no options."""
    host = f"{url.host}:{url.port}" if url.port else (url.host or "")
    return f"{url.get_backend_name()}://{host}/{url.database or ''}"


def same_database(one: URL, other: URL) -> bool:
    """They lead to one database; two in memory have an address in common and nothing else."""
    return _place(one) == _place(other)


def _place(url: URL) -> Sequence[object]:
    kind = url.get_backend_name()
    if kind in MARIADB:
        return (MARIADB, _host(url), url.port or 3306, url.database)
    if kind != "sqlite":
        return (kind, _host(url), url.port or 5432, url.database)
    if url.database in (None, "", ":memory:"):
        return (kind, object())
    return (kind, _file(str(url.database), Path.cwd()))


@lru_cache(maxsize=256)
def _file(name: str, here: Path) -> Path:
    # It asks the system for each folder on the way; every publication on a driver's connection
    # comes by.
    return (here / name).resolve()


def _host(url: URL) -> str:
    """This machine by one name; a path is that of a socket."""
    host = str(url.host or url.query.get("host") or "")
    return "localhost" if host in _HERE or host.startswith("/") else host
