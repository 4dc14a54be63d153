"""Drivers come with extras of the package: which one is missing, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from todoke.errors import MissingDriver

_EXTRAS = {
    "psycopg": "postgres",
    "pymysql": "mariadb",
    "aiomysql": "mariadb",
    "aiosqlite": "aiosqlite",
}


@contextmanager
def named_extra() -> Iterator[None]:
    """For what imports a driver: says where a missing one comes from."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        if extra is None:
            raise
        raise MissingDriver(str(error.name), extra) from error
