"""Settling an entry: in the transaction that settles its message, or in its user's own."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, Row, Table, Update, bindparam, exists, select, update

from todoke import codec, crash
from todoke.database import UNIQUE_ID, Database
from todoke.errors import Undigestible
from todoke.ledger.entry import ACCEPTED, FAILED, SUCCEEDED
from todoke.ledger.request import json_of
from todoke.telemetry import log, masked
from todoke.work.item import Failure, Item
from todoke.work.settlement import Then


class Settlements:
    """Writes what became of a message into the entry that it settles."""

    def __init__(self, ledger: Table, letters: Table, database: Database, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        this = (
            ledger.c.id == bindparam("this_id", type_=UNIQUE_ID),
            ledger.c.message_id == bindparam("of_message", type_=UNIQUE_ID),
        )
        # Locked: of several deliveries each has to see what the others have left.
        mine = select(ledger.c.state, ledger.c.waits, ledger.c.keeps).where(*this)
        self._mine = mine.with_for_update()
        self._expect = update(ledger).where(*this).values(waits=bindparam("deliveries"))
        self._left = update(ledger).where(*this).values(waits=ledger.c.waits - 1)
        self._settle = settling(ledger, database).where(*this)
        # One of several deliveries may be dead for good: then the whole is, whatever the others do.
        given_up = exists().where(
            letters.c.message_id == ledger.c.message_id,
            letters.c.closed_as.is_distinct_from("redriven"),
        )
        self._reopen = (
            update(ledger)
            .where(*this, ledger.c.state == FAILED, ~given_up)
            .values(
                state=ACCEPTED,
                settled_at=None,
                expires_at=None,
                status_code=None,
                error_code=None,
                error_message=None,
            )
        )

    def expect(self, connection: Connection, item: Item, deliveries: int) -> None:
        """The message becomes so many deliveries, and all of them have to end well."""
        if item.settles is not None and deliveries > 1:
            connection.execute(self._expect, {**_this(item), "deliveries": deliveries})

    def succeed(self, item: Item, result: object) -> Then | None:
        """To be run as the message is settled; None where it settles no entry."""
        if item.settles is None:
            return None
        text = self._text(item, result)
        return lambda connection: self._succeed(connection, item, text)

    def refuse(self, item: Item, failure: Failure) -> Then | None:
        """The same for a message that is processed, and whose answer is a refusal."""
        if item.settles is None:
            return None
        return lambda connection: self.fail(connection, item, failure)

    def fail(self, connection: Connection, item: Item, failure: Failure) -> None:
        if item.settles is None:
            return
        found = connection.execute(self._mine, _this(item)).first()
        if found is None or found.state != ACCEPTED:
            return
        self._write(connection, item, found.keeps, FAILED, None, failure)

    def failed(self, connection: Connection, _source: str, item: Item, failure: Failure) -> None:
        """Told of every burial."""
        self.fail(connection, item, failure)

    def reopened(self, connection: Connection, letter: Row[Any]) -> None:
        """Its message is tried again: the outcome is open, too."""
        if letter.settles is not None:
            this = {"this_id": letter.settles, "of_message": letter.message_id}
            connection.execute(self._reopen, this)

    def _succeed(self, connection: Connection, item: Item, text: str | None) -> None:
        found = connection.execute(self._mine, _this(item)).first()
        if found is None:
            return
        if found.waits > 1:
            connection.execute(self._left, _this(item))
        elif found.state == ACCEPTED:
            self._write(connection, item, found.keeps, SUCCEEDED, text, None)

    def _write(
        self,
        connection: Connection,
        item: Item,
        keeps: float,
        state: str,
        response: str | None,
        failure: Failure | None,
    ) -> None:
        values = settled(state, keeps, response, failure=failure)
        crash.point("ledger.before_settle")
        connection.execute(self._settle, {**_this(item), **values})
        crash.point("ledger.after_settle")

    def _text(self, item: Item, result: object) -> str | None:
        """What is stored of a result. It has happened: one that cannot be kept fails nothing."""
        try:
            return response_text(result, self._max_bytes)
        except (codec.NotStrict, Undigestible) as error:
            log.error("message %s: its result is not kept: %s", item.message_id, error)
            return None


def response_text(response: object, max_bytes: int) -> str | None:
    """Canonical text of a response; raises NotStrict, or Undigestible, for what has none."""
    if response is None:
        return None
    text = codec.dump(json_of(response) if isinstance(response, BaseModel) else response)
    if (size := len(text.encode())) > max_bytes:
        raise codec.NotStrict(f"{size:,} bytes, the limit is {max_bytes:,}")
    return text


def settling(ledger: Table, database: Database) -> Update:
    """The UPDATE that settles; `settled` has its values."""
    return update(ledger).values(
        state=bindparam("new_state"),
        status_code=bindparam("new_status_code"),
        response=bindparam("new_response"),
        error_code=bindparam("new_code"),
        error_message=bindparam("new_message"),
        settled_at=database.now,
        expires_at=database.after("kept_for"),
    )


def settled(
    state: str,
    keeps: float,
    response: str | None,
    *,
    status_code: int | None = None,
    failure: Failure | None = None,
) -> dict[str, Any]:
    return {
        "new_state": state,
        "new_status_code": status_code,
        "new_response": response,
        "new_code": failure and failure.code,
        "new_message": failure and masked(failure.message),
        "kept_for": keeps,
    }


def _this(item: Item) -> dict[str, Any]:
    return {"this_id": item.settles, "of_message": item.message_id}
