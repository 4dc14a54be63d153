"""Django's connections, on each of its backends that todoke knows."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import uuid4

from sqlalchemy import URL, make_url

from tests.publish.desks.desk import Desk
from tests.servers.mysqlclient import import_mysqlclient

BACKENDS = {"sqlite": "sqlite3", "postgresql": "postgresql", "mariadb": "mysql"}


class OfDjango(Desk):
    @contextmanager
    def _connected(self, url: URL) -> Iterator[Any]:
        """A database of the project's, as `connections["…"]` has it."""
        with database(url) as alias:
            from django.db import connections

            yield connections[alias]

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        from django.db import transaction

        with self._connected(self.app.url) as connection, transaction.atomic(connection.alias):
            yield connection

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        from django.db import transaction

        with transaction.atomic(tx.alias):
            yield

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url) as connection:
            yield connection

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        from django.db import transaction

        parsed = make_url(url)
        with self._connected(parsed) as connection, transaction.atomic(connection.alias):
            yield connection

    async def execute(self, tx: Any, statement: str) -> None:
        with tx.cursor() as cursor:
            cursor.execute(statement)


class OfDjangoByHand(OfDjango):
    """Without `atomic`: autocommit is off, and the caller commits."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url) as connection:
            connection.set_autocommit(False)
            try:
                yield connection
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        if tx.vendor == "sqlite" and not tx.connection.in_transaction:
            await self.execute(tx, "BEGIN")  # or the end of the savepoint would be a commit
        async with super().savepoint(tx):
            yield


@contextmanager
def database(url: URL) -> Iterator[str]:
    """The alias of a database that a Django project has for as long as this lasts."""
    _set_up()
    from django.db import connections

    kind = BACKENDS[url.get_backend_name()]
    if kind == "mysql":
        import_mysqlclient()
    alias = f"database_{uuid4().hex}"
    connections.settings[alias] = {**connections.settings["default"], **_settings(url, kind)}
    try:
        yield alias
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.settings[alias]


def _settings(url: URL, kind: str) -> dict[str, Any]:
    return {
        "ENGINE": f"django.db.backends.{kind}",
        "NAME": url.database,
        "USER": url.username or "",
        "HOST": url.host or "",
        "PORT": str(url.port or ""),
        "OPTIONS": {"charset": "utf8mb4"} if kind == "mysql" else {},
    }


def _set_up() -> None:
    import django
    from django.conf import settings

    # These tests are coroutines, to Django's surprise; what it fears is another thing.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    if not settings.configured:
        settings.configure(
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
        )
        django.setup()
