"""Bugs planted on purpose, to see that the random schedules catch them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import exists, select, true
from sqlalchemy.orm import Session

from todoke.dead_letters import bury
from todoke.work import claim, settle
from todoke.work.perform import Answer, Call, InOwnTransaction, Performer

Plant = Callable[[pytest.MonkeyPatch], None]


def break_the_fence(patch: pytest.MonkeyPatch) -> None:
    """A final write that does not look who owns the row."""
    patch.setattr(settle, "fence", lambda *_row: true())


def skip_the_attempt_count(patch: pytest.MonkeyPatch) -> None:
    """A claim that does not count the attempt."""
    counting = claim._statement

    def uncounted(table: Any, *rest: Any, **options: Any) -> Any:
        statement: Any = counting(table, *rest, **options)
        return statement.values(attempt=table.live.c.attempt + 0)

    patch.setattr(claim, "_statement", uncounted)


def settle_after_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Effects in one transaction, their settlement in the next."""

    def in_two_steps(self: Performer, call: Call) -> Answer:
        engine = self._engine()
        with Session(engine) as session, session.begin():
            name = call.handler.session_parameter
            self._call(call, {str(name): session})
        with engine.connect() as connection, connection.begin():
            call.settling.settle_first(connection, call.owner, call.item)
        return InOwnTransaction(call.item)

    patch.setattr(Performer, "_in_session", in_two_steps)


def claim_after_being_declared_dead(patch: pytest.MonkeyPatch) -> None:
    """A claim by a process that is not registered any more."""
    patch.setattr(claim, "exists", lambda *rows: true() if rows else exists())


def leave_the_dead_among_the_living(patch: pytest.MonkeyPatch) -> None:
    """A dead letter whose row stays where it was."""

    class Keep:
        def where(self, *_conditions: object) -> Any:
            return select(true())

    patch.setattr(bury, "delete", lambda _table: Keep())


def publish_what_was_rolled_back(patch: pytest.MonkeyPatch) -> None:
    """Rows that are written beside the caller's transaction."""
    from todoke.outbox import handle

    def beside(outbox: Any, session: Session, rows: list[Any], engine: Any, _call: str) -> None:
        with engine.begin() as connection:
            outbox.write(connection, rows)

    patch.setattr(handle, "_keep", beside)


MUTANTS: list[Plant] = [
    break_the_fence,
    skip_the_attempt_count,
    settle_after_the_commit,
    claim_after_being_declared_dead,
    leave_the_dead_among_the_living,
    publish_what_was_rolled_back,
]
