"""What todoke asks of a driver whose own connections are published on; `databases/drivers` answers.

Behind SQLAlchemy all drivers are alike. A connection of the driver itself is asked four things:
where it leads, whether it commits by itself, to run a statement, and when its transaction is over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from sqlalchemy import URL

from todoke.bell import Bell, Happened, Hints
from todoke.writing import Copy

Parameters: TypeAlias = Sequence[Any] | dict[str, Any]
OnUse: TypeAlias = Callable[[bool], None]
"""Told, before a connection is used, whether to roll back; raises if it must not be used now."""


class Driver(ABC):
    """One kind of connection."""

    name: ClassVar[str]
    """What refusals call it: "a psycopg connection"."""
    dialect: str
    """How SQLAlchemy calls the dialect that statements are written in for it."""
    paramstyle: ClassVar[str | None] = None
    remedy: ClassVar[str]
    """How its users begin a transaction."""
    stays: ClassVar[bool] = False
    """A connection leads to the same database as long as it lives."""

    def own(self, connection: Any) -> Any:
        """The connection itself, where users hold something that stands for it."""
        return connection

    def ring_when_over(self, connection: Any, bell: Bell, hints: Hints) -> None:
        """Ring after the present transaction; drivers that never tell of its end are looked at."""
        is_over = self.is_over(connection)
        if is_over is not None:
            bell.ring(hints, is_over)

    def is_over(self, connection: Any) -> Happened | None:
        """Tells, from another thread, whether the present transaction has ended; None: nobody can.

        It must not keep the connection alive, whose end is the transaction's, and is equal to
        what the same connection answered before.
        """
        return None


class SyncDriver(Driver):
    """Connections whose methods answer at once."""

    @abstractmethod
    def address(self, connection: Any) -> URL | None:
        """Where it leads; None where that cannot be told."""

    @abstractmethod
    def commits_by_itself(self, connection: Any) -> bool:
        """It is in autocommit mode, and no transaction was begun."""

    @abstractmethod
    def execute(self, connection: Any, statement: str, parameters: Parameters) -> None: ...

    @abstractmethod
    def execute_many(
        self, connection: Any, statement: str, parameters: Sequence[Parameters]
    ) -> None: ...

    @abstractmethod
    def find(self, connection: Any, statement: str, parameters: Parameters) -> Sequence[Any] | None:
        """The first row, or None."""


class CursorDriver(SyncDriver):
    """As most have it: a statement runs on a cursor."""

    def execute(self, connection: Any, statement: str, parameters: Parameters) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)

    def execute_many(
        self, connection: Any, statement: str, parameters: Sequence[Parameters]
    ) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(statement, parameters)

    def find(self, connection: Any, statement: str, parameters: Parameters) -> Sequence[Any] | None:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            found: Sequence[Any] | None = cursor.fetchone()
            return found


class Watching(ABC):
    """Can keep an eye on a connection on which a publication waits to be awaited."""

    @abstractmethod
    def watch(self, connection: Any, on_use: OnUse) -> None:
        """Call `on_use` before whatever is done with the connection."""

    @abstractmethod
    def unwatch(self, connection: Any) -> None: ...


class AsyncDriver(Watching, Driver):
    """Connections whose methods are awaited."""

    @abstractmethod
    async def address(self, connection: Any) -> URL | None: ...

    @abstractmethod
    async def commits_by_itself(self, connection: Any) -> bool: ...

    @abstractmethod
    async def execute(self, connection: Any, statement: str, parameters: Parameters) -> None: ...

    @abstractmethod
    async def execute_many(
        self, connection: Any, statement: str, parameters: Sequence[Parameters]
    ) -> None: ...

    @abstractmethod
    async def find(
        self, connection: Any, statement: str, parameters: Parameters
    ) -> Sequence[Any] | None: ...


class Copies(ABC):
    """A driver that can stream many rows; what an async one answers is awaited."""

    @abstractmethod
    def ask(self, connection: Any, statement: str, parameters: Parameters) -> Any:
        """The one value of the one row."""

    @abstractmethod
    def copy(self, connection: Any, rows: Copy) -> Any: ...
