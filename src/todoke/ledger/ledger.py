"""What users do with the ledger: accept a key, settle it, ask what came of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from math import ceil
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, MetaData, Table, bindparam, select

from todoke import codec
from todoke.both import both
from todoke.database import UNIQUE_ID, Database
from todoke.duration import Duration, seconds
from todoke.errors import AlreadySettled, InvalidOption
from todoke.handles.at_once import AtOnce, anywhere
from todoke.ledger.accept import Accepting
from todoke.ledger.entry import (
    ACCEPTED,
    FAILED,
    FIELDS,
    STATES,
    SUCCEEDED,
    LedgerAnswer,
    LedgerEntry,
    entry_of,
)
from todoke.ledger.request import Scope, digest_of
from todoke.ledger.settle import Settlements, response_text, settled, settling
from todoke.ledger.table import ledger_table
from todoke.settings import Settings
from todoke.work.item import Failure
from todoke.writing import Execute, Find, Writing


class Ledger:
    """Requests by idempotency key. Every verb works in the caller's transaction."""

    def __init__(
        self,
        metadata: MetaData,
        letters: Table,
        database: Database,
        settings: Settings,
        engine: Callable[[], Engine],
        draw: Callable[[], UUID],
    ) -> None:
        self.table: Table = ledger_table(metadata, database)
        self._settings, self._draw, ledger = settings, draw, self.table
        self.at_once: AtOnce = AtOnce(ledger, database, engine)
        self.settlements: Settlements = Settlements(
            ledger, letters, database, settings.number("payload.max_bytes")
        )
        self._accepting = Accepting(ledger, letters, database)
        this = ledger.c.id == bindparam("this_id", type_=UNIQUE_ID)
        of_message = ledger.c.message_id == bindparam("of_message", type_=UNIQUE_ID)
        columns = [ledger.c[name] for name in FIELDS]
        self._find = select(*columns).where(this)
        still = (this, of_message, ledger.c.state == ACCEPTED)
        self._open = select(ledger.c.keeps).where(*still).with_for_update()
        self._settle = settling(ledger, database).where(*still)

    @cached_property
    def _keeps(self) -> float:
        return self._settings.seconds("ledger.expires")

    @cached_property
    def _retry_after(self) -> int:
        return max(1, ceil(self._settings.seconds("ledger.retry_after")))

    @anywhere
    def accept(
        self,
        key: str,
        request: object,
        *,
        tenant: str = "",
        caller: str = "",
        operation: str = "",
        expires: Duration | None = None,
    ) -> Writing[LedgerAnswer]:
        """Take a key for a request, or say what became of the one that has it.

        Waits while another transaction that has the key is open; so let it be the first statement.
        """
        scope = Scope(key, tenant, caller, operation)
        keeps = self._keeps if expires is None else seconds(expires, "ledger.accept(expires)")
        digest, message_id = digest_of(request), self._draw()
        writing = self._accepting.writing(scope, digest, message_id, keeps, self._retry_after)
        return (yield from writing)

    @anywhere
    def succeed(
        self, entry: LedgerEntry, response: object = None, *, status_code: int | None = None
    ) -> Writing[LedgerEntry]:
        """What was asked for is done; every repeat gets this response."""
        text = self._response("ledger.succeed", response)
        wish = partial(settled, SUCCEEDED, response=text, status_code=status_code)
        return (yield from self._settling(entry, wish, "ledger.succeed"))

    @anywhere
    def fail(
        self,
        entry: LedgerEntry,
        code: str,
        message: str = "",
        *,
        response: object = None,
        status_code: int | None = None,
    ) -> Writing[LedgerEntry]:
        """What was asked for is refused for good; every repeat is told so."""
        if not isinstance(code, str) or not 0 < len(code) <= 100:
            raise InvalidOption("ledger.fail(code)", code, "a name of at most 100 characters.")
        text = self._response("ledger.fail", response)
        why = Failure("business", code, message)
        wish = partial(settled, FAILED, response=text, status_code=status_code, failure=why)
        return (yield from self._settling(entry, wish, "ledger.fail"))

    @anywhere
    def find(
        self, key: str, *, tenant: str = "", caller: str = "", operation: str = ""
    ) -> Writing[LedgerEntry | None]:
        """What became of a key: for a client whose connection died before it was told."""
        return (yield from self._finding(Scope(key, tenant, caller, operation).id))

    @both
    def list(
        self,
        connection: Connection,
        *,
        key: str | None = None,
        tenant: str | None = None,
        caller: str | None = None,
        operation: str | None = None,
        state: str | None = None,
        limit: int = 50,
    ) -> list[LedgerEntry]:
        """Newest first; a key as whoever has used it."""
        if state is not None and state not in STATES:
            raise InvalidOption("ledger.list(state)", state, f"one of {', '.join(STATES)}.")
        ledger = self.table
        scope = {"tenant": tenant, "caller": caller, "operation": operation}
        wanted = {"key": key, "state": state, **scope}
        chosen = [ledger.c[name] == value for name, value in wanted.items() if value is not None]
        rows = select(*(ledger.c[name] for name in FIELDS)).where(*chosen)
        newest = rows.order_by(ledger.c.accepted_at.desc(), ledger.c.id).limit(limit)
        return [entry_of(row) for row in connection.execute(newest)]

    def _finding(self, id: UUID) -> Writing[LedgerEntry | None]:
        row = yield Find(self._find, {"this_id": id})
        return None if row is None else entry_of(row)

    def _settling(
        self, entry: LedgerEntry, wish: Callable[..., dict[str, Any]], call: str
    ) -> Writing[LedgerEntry]:
        if not isinstance(entry, LedgerEntry):
            raise InvalidOption(call, type(entry).__name__, "pass the entry that was accepted.")
        this = {"this_id": entry.id, "of_message": entry.message_id}
        still = yield Find(self._open, this)
        if still is None:
            found = yield from self._finding(entry.id)
            raise AlreadySettled(call, entry.key, found.state if found else None)
        yield Execute(self._settle, {**this, **wish(keeps=still[0])})
        now = yield from self._finding(entry.id)
        assert now is not None  # noqa: S101
        return now

    def _response(self, call: str, response: object) -> str | None:
        try:
            return response_text(response, self._settings.number("payload.max_bytes"))
        except codec.NotStrict as error:
            raise InvalidOption(
                f"{call}(response)", "…", f"no strict JSON: {error}. Pass a model or JSON values."
            ) from error
