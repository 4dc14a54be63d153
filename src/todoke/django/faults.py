"""What Django's database errors mean, asked of the one place that knows databases."""

from __future__ import annotations

from django.db import InterfaceError
from django.db import OperationalError as Operational
from sqlalchemy.exc import OperationalError

from todoke.database import Database, of_driver
from todoke.web.failure import chain


def passes(error: BaseException, database: Database) -> bool:
    """A deadlock or the like: running the transaction again may succeed."""
    return any(database.passes(one) for one in _known(error))


def is_passing(error: BaseException, database: Database) -> bool:
    """That, or a lost connection: it says nothing about the request."""
    return any(database.passes(one) or database.is_lost(one) for one in _known(error))


def _known(error: BaseException) -> list[OperationalError]:
    """As SQLAlchemy would have raised them."""
    return [
        OperationalError(None, None, of_driver(one))
        for one in chain(error)
        if isinstance(one, Operational | InterfaceError)
    ]
