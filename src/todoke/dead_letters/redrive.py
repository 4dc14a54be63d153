"""What people do with dead letters: look, redrive, resolve; each with author and reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection, Row, insert, literal, select, tuple_, update

from todoke import codec, crash
from todoke.bell import EVERYWHERE
from todoke.both import both
from todoke.database import Database
from todoke.dead_letters.followers import Followers, Parked, letter_place
from todoke.dead_letters.letter import DeadLetter, Operation, Page, Selection, where
from todoke.dead_letters.operations import Operations, check_author
from todoke.dead_letters.table import DeadLetterTables
from todoke.errors import InvalidOption, NotFound
from todoke.message import told
from todoke.work.hold import Holds, Place
from todoke.work.item import LATER, READY
from todoke.work.strand import UNORDERED, place_of, strand_of_key
from todoke.work.table import CARRIED, WorkTable

Check = Callable[[Row[Any], str], None]
"""Refuses a corrected body that its event type cannot be read from."""

Ring = Callable[[Connection, Collection[str]], None]
"""Tells workers, once the connection's transaction is committed, where to look."""

Reopen = Callable[[Connection, Row[Any]], None]
"""Told which letter is tried again."""


class DeadLetters:
    """One list for all sources; sync and async handles alike."""

    where: Final = staticmethod(where)

    def __init__(
        self,
        tables: DeadLetterTables,
        sources: Sequence[WorkTable],
        holds: Mapping[str, Holds],
        followers: Followers,
        database: Database,
        ring: Ring = lambda _connection, _hints: None,
        check: Check = lambda _letter, _body: None,
        reopen: Sequence[Reopen] = (),
    ) -> None:
        self._letters = tables.letters
        self.operations: Operations = Operations(tables.operations, database)
        self._sources = {table.source: table for table in sources}
        self._holds, self._followers, self._ring = holds, followers, ring
        self._database, self._check, self._reopen = database, check, reopen

    @both
    def list(
        self,
        connection: Connection,
        selection: Selection | None = None,
        *,
        limit: int = 50,
        after: str | None = None,
        closed: bool = False,
    ) -> Page[DeadLetter]:
        """Newest first; `closed` shows those that were redriven or resolved."""
        letters = self._letters
        rows = select(letters).order_by(letters.c.died_at.desc(), letters.c.id.desc())
        clock = self._database.clock
        rows = rows.where((selection or where()).condition(letters, clock, closed=closed))
        if after is not None:
            last = self._last(connection, after)
            order = (letters.c.died_at, letters.c.id)
            # Bound as the columns are: a bare UUID takes another form on MariaDB.
            place = [literal(last._mapping[one.name], one.type) for one in order]
            rows = rows.where(tuple_(*order) < tuple_(*place))
        found = connection.execute(rows.limit(limit + 1)).all()
        page = [_letter(row) for row in found[:limit]]
        return Page(page, str(page[-1].id) if len(found) > limit else None)

    def _last(self, connection: Connection, after: str) -> Row[Any]:
        chosen = where(ids=[after]).ids
        assert chosen is not None  # noqa: S101
        letters = self._letters
        row = connection.execute(select(letters).where(letters.c.id.in_(chosen))).first()
        if row is None:
            raise NotFound("dead letter", after)
        return row

    @both
    def get(self, connection: Connection, id: UUID) -> DeadLetter:
        """One of them; notes that a person has looked."""
        letters = self._letters
        seen = update(letters).where(letters.c.id == id).values(seen_at=self._database.now)
        connection.execute(seen)
        row = connection.execute(select(letters).where(letters.c.id == id)).first()
        if row is None:
            raise NotFound("dead letter", id)
        return _letter(row)

    @both
    def parked(self, connection: Connection, id: UUID) -> Parked | None:
        """Who waits behind this one; None where it is closed, or nobody has to wait for it."""
        letters = self._letters
        row = connection.execute(select(letters).where(letters.c.id == id)).first()
        if row is None:
            raise NotFound("dead letter", id)
        place = letter_place(row)
        if row.closed_at is not None or place.lane == UNORDERED:
            return None
        return self._followers.behind(connection, row.source, place)

    @both
    def count(self, connection: Connection, selection: Selection | None = None) -> int:
        chosen = (selection or where()).condition(self._letters, self._database.clock)
        rows = connection.execute(select(self._letters.c.id).where(chosen))
        return len(rows.all())

    @both
    def redrive(
        self,
        connection: Connection,
        selection: Selection,
        *,
        by: str,
        reason: str,
        payload: Mapping[str, Any] | Sequence[Any] | str | float | None = None,
        rate: str | None = None,
        dry_run: bool = False,
    ) -> Operation:
        """Send them through again, as they were or with a corrected payload."""
        check_author(by, reason)
        every = _interval(rate)
        chosen = self._choose(connection, selection)
        body = None if payload is None else self._corrected(chosen, payload)
        followed = self._count_followed(connection, chosen)
        if dry_run:
            return Operation(0, "redrive", len(chosen), 0, followed)
        told, count = selection.told(), len(chosen)
        operation = self.operations.record(connection, "redrive", told, count, by, reason)
        for position, letter in enumerate(chosen):
            self._revive(connection, letter, body, position * every)
        self._close(connection, chosen, "redriven", operation, body)
        for letter in chosen:
            for tell in self._reopen:
                tell(connection, letter)
        self._ring(connection, EVERYWHERE)
        crash.point("redrive.before_commit")
        return Operation(operation, "redrive", len(chosen), len(chosen), followed)

    @both
    def resolve(
        self,
        connection: Connection,
        selection: Selection,
        *,
        by: str,
        reason: str,
        dry_run: bool = False,
    ) -> Operation:
        """Close them for good: nothing more will be done."""
        check_author(by, reason)
        chosen = self._choose(connection, selection)
        followed = self._count_followed(connection, chosen)
        if dry_run:
            return Operation(0, "resolve", len(chosen), 0, followed)
        told, count = selection.told(), len(chosen)
        operation = self.operations.record(connection, "resolve", told, count, by, reason)
        self._close(connection, chosen, "resolved", operation, None)
        self._let_go_on(connection, chosen)
        self._ring(connection, EVERYWHERE)
        crash.point("resolve.before_commit")
        return Operation(operation, "resolve", len(chosen), len(chosen), followed)

    def _let_go_on(self, connection: Connection, chosen: Sequence[Row[Any]]) -> None:
        """What was parked behind them is delivered, in its order."""
        for source, holds in self._holds.items():
            ordered = _ordered(chosen, source)
            for start in range(0, len(ordered), 500):
                holds.pass_on(connection, ordered[start : start + 500])

    def _count_followed(self, connection: Connection, chosen: Sequence[Row[Any]]) -> int:
        return sum(
            self._followers.count_followed(connection, source, _ordered(chosen, source))
            for source in self._holds
        )

    def _choose(self, connection: Connection, selection: Selection) -> Sequence[Row[Any]]:
        """Freeze the selection: what dies later is not in it."""
        letters = self._letters
        chosen = selection.condition(letters, self._database.clock)
        rows = select(letters).where(chosen).order_by(letters.c.died_at, letters.c.id)
        return connection.execute(rows.with_for_update(skip_locked=True)).all()

    def _corrected(self, chosen: Sequence[Row[Any]], payload: object) -> str:
        if len(chosen) != 1:
            raise InvalidOption(
                "payload", f"for {len(chosen)} dead letters", "correct one at a time: choose by id."
            )
        try:
            body = codec.dump(dict(payload) if isinstance(payload, Mapping) else payload)
            self._check(chosen[0], body)
        except ValidationError as error:
            raise InvalidOption("payload", "…", f"{told(error)}. Correct it.") from None
        except codec.NotStrict as error:
            raise InvalidOption("payload", "…", f"{error}. Write strict JSON.") from error
        return body

    def _revive(
        self, connection: Connection, letter: Row[Any], body: str | None, delay: float
    ) -> None:
        row = {name: letter._mapping[name] for name in CARRIED}
        row["ordered"] = ordered = self._keeps_its_place(connection, letter)
        row |= place_of(
            letter.stream, letter.aggregate, letter.key, letter.handler, ordered=ordered
        )
        if letter.source == "job" and letter.key:
            # A limit counts by this key.
            row["strand"] = strand_of_key(letter.name, letter.key)
        if body is not None:
            row["body"] = body
        # A message that came too late once would die again at once.
        row["deliver_before"] = None
        # That of its letter, if it was restored; once processed it is kept like any other.
        row["expires_at"] = None
        live = self._sources[letter.source].live
        back = insert(live).values(
            **row,
            # Its old place in the order, and an attempt that no late finisher ever had.
            id=letter.item_id,
            attempt=letter.attempt,
            spared=letter.attempt,
            state=LATER if delay else READY,
            scheduled_at=self._database.after("delay"),
            updated_at=self._database.now,
        )
        connection.execute(back, {"delay": delay})

    def _keeps_its_place(self, connection: Connection, letter: Row[Any]) -> bool:
        """Only where its followers were parked; where they went on, its place is gone."""
        place = letter_place(letter)
        if place.lane == UNORDERED:
            return False
        barriers = self._holds[letter.source].barriers(connection, [place.strand])
        return barriers.get(place.strand) == place.id

    def _close(
        self,
        connection: Connection,
        chosen: Sequence[Row[Any]],
        how: str,
        operation: int,
        body: str | None,
    ) -> None:
        letters = self._letters
        closed = update(letters).values(
            closed_at=self._database.now,
            closed_as=how,
            operation_id=operation,
            corrected_body=body,
        )
        for start in range(0, len(chosen), 500):
            ids = [letter.id for letter in chosen[start : start + 500]]
            connection.execute(closed.where(letters.c.id.in_(ids)))


def _letter(row: Row[Any]) -> DeadLetter:
    told = row._mapping
    same = {
        name: told[name]
        for name in DeadLetter.__dataclass_fields__
        if name not in ("code", "message", "traceback", "attempts")
    }
    return DeadLetter(
        **same,
        code=row.error_code or "",
        message=row.error_message or "",
        traceback=row.error_traceback or "",
        attempts=row.attempt - row.spared,
    )


def _ordered(letters: Sequence[Row[Any]], source: str) -> list[Place]:
    """The places of those that had one."""
    places = [letter_place(letter) for letter in letters if letter.source == source]
    return [place for place in places if place.lane != UNORDERED]


def _interval(rate: str | None) -> float:
    if rate is None:
        return 0.0
    match = re.fullmatch(r"(\d+)/(s|m|h)", rate, re.ASCII)
    if match is None or int(match[1]) == 0:
        raise InvalidOption("rate", rate, 'write "10/s", "100/m" or "1000/h".')
    return {"s": 1, "m": 60, "h": 3600}[match[2]] / int(match[1])
