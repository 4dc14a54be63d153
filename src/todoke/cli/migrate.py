"""`todoke migrate`: create or upgrade the tables."""

from __future__ import annotations

from typing import Annotated

import typer

from todoke.app import Todoke
from todoke.cli.finding import AppOption, application
from todoke.cli.reach import reachable
from todoke.cli.refusal import Refused
from todoke.cli.screen import say
from todoke.database import safe_url
from todoke.databases import schema
from todoke.errors import SchemaOutdated


def migrate(
    app: AppOption = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL; connect to nothing.")] = False,
) -> None:
    """Create or upgrade todoke's tables; safe to repeat."""
    with application(app) as found:
        if sql:
            print(found.migration_sql().rstrip())
            return
        with reachable(found):
            say(_migrate(found))


def _migrate(app: Todoke) -> str:
    before, place = _outdated(app), safe_url(app.url)
    if before is None:
        return f"The tables in {place} are up to date."
    if before.found is not None and before.found > before.wanted:
        raise Refused(
            f"The tables in {place} are at revision {before.found}, which this release does not "
            f"know; it knows {before.wanted}. Install the release that made them."
        )
    app.migrate()
    if before.found is None:
        return f"Created the tables in {place}, at revision {before.wanted}."
    return f"Upgraded the tables in {place} from revision {before.found} to {before.wanted}."


def _outdated(app: Todoke) -> SchemaOutdated | None:
    with app.engine.begin() as connection:
        try:
            schema.check(connection, app.database)
        except SchemaOutdated as error:
            return error
    return None
