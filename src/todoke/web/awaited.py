"""Whether a message was published, in this transaction, that will settle an entry."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import bindparam, func, select

from todoke.app import Todoke
from todoke.database import UNIQUE_ID
from todoke.handles.at_once import AtOnce
from todoke.operate import LedgerEntry
from todoke.writing import Find, Writing


class Outlook:
    """Begins before a request is done; looks at what was published since, however much waits."""

    def __init__(self, app: Todoke, handle: Any) -> None:
        """On a plain handle, Django's among them."""
        self._live, self._handle = app.outbox_table.live, handle
        self._asking = AtOnce(self._live, app.database, lambda: app.engine)
        self._newest: int = self._asking.run(handle, self._looking_for_newest, "once")

    def shows(self, entry: LedgerEntry) -> bool:
        """Asked of the transaction itself: a savepoint may have taken the message back."""
        if not entry.has_message:
            return False
        return bool(self._asking.run(self._handle, partial(self._looking, entry), "once"))

    def _looking_for_newest(self) -> Writing[int]:
        (newest,) = yield Find(select(func.max(self._live.c.id)), {})
        return newest or 0

    def _looking(self, entry: LedgerEntry) -> Writing[bool]:
        live = self._live
        since = live.c.id > bindparam("newest")
        its = live.c.message_id == bindparam("of_entry", type_=UNIQUE_ID)
        values = {"newest": self._newest, "of_entry": entry.message_id}
        found = yield Find(select(live.c.id).where(since, its), values)
        return found is not None
