"""Whether a message was published, in this transaction, that will settle an entry."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import bindparam, select

from todoke.app import Todoke
from todoke.database import UNIQUE_ID
from todoke.handles.at_once import AtOnce
from todoke.operate import LedgerEntry
from todoke.writing import Find, Writing


def is_awaited(app: Todoke, handle: Any, entry: LedgerEntry) -> bool:
    """Asked of the transaction itself: a savepoint may have taken the message back.

    On a plain handle, Django's among them.
    """
    asking = AtOnce(app.outbox_table.live, app.database, lambda: app.engine)
    return bool(asking.run(handle, partial(_looking, app, entry), "once"))


def _looking(app: Todoke, entry: LedgerEntry) -> Writing[bool]:
    live = app.outbox_table.live
    its = live.c.message_id == bindparam("of_entry", type_=UNIQUE_ID)
    found = yield Find(select(live.c.message_id).where(its), {"of_entry": entry.message_id})
    return found is not None
