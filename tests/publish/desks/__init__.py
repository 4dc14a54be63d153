"""Every kind of transaction an event can be published in, and the databases it leads to.

`docs/connections.md` names the same list; a test compares the two.
"""

from __future__ import annotations

import sys

from tests.publish.desks.desk import Desk
from tests.publish.desks.of_django import OfDjango, OfDjangoByHand
from tests.publish.desks.of_drivers import (
    OfAiosqlite,
    OfAsyncpg,
    OfAsyncpgPool,
    OfAsyncPsycopg,
    OfAsyncPsycopgBlock,
    OfPsycopg,
    OfPsycopgBlock,
    OfPyMySql,
    OfPyMySqlBegun,
    OfSqlite3,
    OfSqlite3Always,
    OfSqlite3Begun,
)
from tests.publish.desks.of_sqlalchemy import (
    OfAsyncConnection,
    OfAsyncSession,
    OfConnection,
    OfSession,
)

__all__ = ["DATABASES", "EVERY_KIND", "OF_SQLALCHEMY", "Desk", "OfSession", "on"]

DATABASES = ("sqlite", "postgres", "mariadb")
OF_SQLALCHEMY = (OfSession, OfAsyncSession, OfConnection, OfAsyncConnection)
OF_DJANGO = (OfDjango, OfDjangoByHand)
ALWAYS_OPEN = (OfSqlite3Always,) if sys.version_info >= (3, 12) else ()
OWN: dict[str, tuple[type[Desk], ...]] = {
    "sqlite": (OfSqlite3, OfSqlite3Begun, *ALWAYS_OPEN, OfAiosqlite),
    "postgres": (
        OfPsycopg,
        OfPsycopgBlock,
        OfAsyncPsycopg,
        OfAsyncPsycopgBlock,
        OfAsyncpg,
        OfAsyncpgPool,
    ),
    "mariadb": (OfPyMySql, OfPyMySqlBegun),
}


def kinds_of(database: str) -> tuple[type[Desk], ...]:
    return (*OF_SQLALCHEMY, *OF_DJANGO, *OWN[database])


def on(*databases: str) -> list[tuple[str, type[Desk]]]:
    """Every kind of transaction on these databases."""
    return [(name, kind) for name in databases for kind in kinds_of(name)]


EVERY_KIND = on(*DATABASES)
