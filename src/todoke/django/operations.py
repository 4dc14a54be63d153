"""What Django's migrations of todoke are made of: our own revisions, up to one."""

from __future__ import annotations

from typing import Any

from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.operations.base import Operation

from todoke.django.project import alias_of, application

_IRREVERSIBLE = (
    "todoke's tables hold work that must not be lost, so they are not dropped here. Drop them by "
    "hand and then run `manage.py migrate --fake todoke zero`."
)


class Upgrade(Operation):
    """Bring todoke's tables to a revision, in the one database that they live in."""

    reduces_to_sql = False
    reversible = True  # so that it is asked, and can say why not

    def __init__(self, revision: str) -> None:
        self.revision = revision

    def state_forwards(self, app_label: str, state: Any) -> None:
        pass

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        app = application()
        if schema_editor.connection.alias == alias_of(app):
            app.migrate(to=self.revision)
            # A test database is copied only while nobody is connected to it.
            app.close()

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.alias == alias_of(application()):
            raise IrreversibleError(_IRREVERSIBLE)

    def describe(self) -> str:
        return f"Upgrade todoke's tables to revision {self.revision}"
