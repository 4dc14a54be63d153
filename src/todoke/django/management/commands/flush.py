"""`manage.py flush` removes all data, so it empties todoke's tables, too.

`TransactionTestCase` and its kin call it after each test.
"""

from __future__ import annotations

from typing import Any

from django.core.management.commands import flush
from sqlalchemy import inspect

from todoke.app import Todoke
from todoke.django.project import alias_of, application

_QUESTION = """You have requested a flush of the database {name!r}.
This removes ALL DATA from it, todoke's undelivered events and dead letters among it.
Are you sure you want to do this?

    Type 'yes' to continue, or 'no' to cancel: """


class Command(flush.Command):
    """Django's own, and then ours."""

    def handle(self, **options: Any) -> None:
        app = application()
        if options["database"] != alias_of(app):
            super().handle(**options)
            return
        if options["interactive"] and input(_QUESTION.format(name=app.url.database)) != "yes":
            self.stdout.write("Flush cancelled.")
            return
        super().handle(**{**options, "interactive": False})
        empty(app)


def empty(app: Todoke) -> None:
    """Delete all that todoke holds; tables that are not there are passed over."""
    with app.engine.begin() as connection:
        there = inspect(connection)
        for table in reversed(app.metadata.sorted_tables):
            if there.has_table(table.name, table.schema):
                connection.execute(table.delete())
