"""What people do to dead letters, jobs and schedules: who, what and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table, insert

from todoke import codec
from todoke.database import Database
from todoke.errors import InvalidOption

_LONGEST_AUTHOR = 255


class Operations:
    """Writes acts down, in the transaction of the act."""

    def __init__(self, operations: Table, database: Database) -> None:
        self._insert = insert(operations).values(done_at=database.now).returning(operations.c.id)

    def record(
        self,
        connection: Connection,
        kind: str,
        selection: Mapping[str, Any],
        selected: int,
        by: str,
        reason: str,
    ) -> int:
        row = {
            "kind": kind,
            "selection": codec.dump({key: one for key, one in selection.items() if one}),
            "selected": selected,
            "author": by,
            "reason": reason,
        }
        return int(connection.execute(self._insert, row).scalar_one())


def check_author(by: str, reason: str) -> None:
    """Refuse an act that nobody answers for."""
    if not by.strip() or len(by) > _LONGEST_AUTHOR:
        raise InvalidOption("by", by, f"say who does it, in at most {_LONGEST_AUTHOR} characters.")
    if not reason.strip():
        raise InvalidOption("reason", reason, "say why; it is kept with the operation.")
