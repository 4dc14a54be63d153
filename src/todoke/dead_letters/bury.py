"""Writing a dead letter in the transaction that takes the row out of the live table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, delete, insert, literal, select
from sqlalchemy.sql import ColumnElement

from todoke.database import Database
from todoke.dead_letters.table import DeadLetterTables
from todoke.identity import Identities
from todoke.work.item import Failure, Item
from todoke.work.table import CARRIED, TOLD, WorkTable

OnDeath = Callable[[Connection, str, Item, Failure], None]
"""Told, in the same transaction, what was given up, from which source, and why."""


class Burial:
    """Moves a row from its live table into the dead letters."""

    def __init__(
        self,
        tables: DeadLetterTables,
        database: Database,
        identities: Identities,
        name_of: Callable[[Item], str],
        on_death: Sequence[OnDeath] = (),
    ) -> None:
        self._letters, self._database, self._identities = tables.letters, database, identities
        self._name_of, self._on_death = name_of, on_death

    def __call__(
        self,
        connection: Connection,
        table: WorkTable,
        guard: ColumnElement[bool],
        item: Item,
        failure: Failure,
    ) -> bool:
        """False when the guard found nothing: another attempt owns the row by now."""
        live, letters = table.live, self._letters
        new = {
            "id": self._identities.draw(),
            "source": table.source,
            "name": self._name_of(item),
            "item_id": item.id,
            "error_class": failure.error_class,
            "error_code": failure.code,
            "error_message": failure.message,
            "error_traceback": failure.traceback,
        }
        moved = [*CARRIED, *TOLD]
        # Locked while read, or a rescue between reading and deleting would leave it in two places.
        row = (
            select(
                *(literal(value, letters.c[name].type) for name, value in new.items()),
                *(live.c[name] for name in moved),
                self._database.now,
            )
            .where(guard)
            .with_for_update()
        )
        target = [*new, *moved, "died_at"]
        copy = insert(letters).from_select(target, row, include_defaults=False)
        # By RETURNING: not every driver counts the rows of an INSERT … SELECT.
        if connection.execute(copy.returning(letters.c.id)).first() is None:
            return False
        connection.execute(delete(live).where(guard))
        for tell in self._on_death:
            tell(connection, table.source, item, failure)
        return True
