"""Bugs planted on purpose, to see that the random schedules catch them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import exists, select, true
from sqlalchemy.orm import Session

from todoke.dead_letters import bury
from todoke.ledger.settle import Settlements
from todoke.work import claim, rescue, settle
from todoke.work.call import Answer, Call, InOwnTransaction
from todoke.work.hold import Holds
from todoke.work.item import SUSPECT
from todoke.work.lanes import LaneLeases
from todoke.work.perform import Performer
from todoke.work.strands import Strands

Plant = Callable[[pytest.MonkeyPatch], None]


def break_the_fence(patch: pytest.MonkeyPatch) -> None:
    """A final write that does not look who owns the row."""
    patch.setattr(settle, "fence", lambda *_row: true())


def skip_the_attempt_count(patch: pytest.MonkeyPatch) -> None:
    """A claim that does not count the attempt."""
    counting = claim.OneStatement.statement

    def uncounted(self: claim.OneStatement, wanted: Any) -> Any:
        return counting(self, wanted).values(attempt=self._live.c.attempt + 0)

    patch.setattr(claim.OneStatement, "statement", uncounted)


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
    from todoke.handles import waiting as sessions

    def beside(outbox: Any, session: Session, rows: list[Any], engine: Any, _call: str) -> None:
        with engine.begin() as connection:
            outbox.write(connection, rows)

    patch.setattr(sessions, "keep", beside)


def begin_before_the_first_is_settled(patch: pytest.MonkeyPatch) -> None:
    """All rows of a key that are in hand begin at once."""
    patch.setattr(Strands, "add", lambda _self, _entry: True)


def look_past_the_barrier(patch: pytest.MonkeyPatch) -> None:
    """A claim that does not mind what its key waits for."""
    patch.setattr(Strands, "is_beyond", lambda _self, _item: False)


def forget_to_block(patch: pytest.MonkeyPatch) -> None:
    """A head that fails and leaves no barrier."""
    patch.setattr(Holds, "block", lambda *_: None)


def never_let_a_key_go_on(patch: pytest.MonkeyPatch) -> None:
    """A barrier that stays after its head was settled."""
    patch.setattr(
        Holds, "pass_on", lambda _self, _connection, places: {p.strand: 0 for p in places}
    )


def suspect_the_whole_key(patch: pytest.MonkeyPatch) -> None:
    """A rescue that lets all rows of a key run as suspects."""

    def all_of_them(_self: object, _connection: object, rows: Any) -> Any:
        return {SUSPECT: [place.id for place in rows]}

    patch.setattr(rescue._Return, "_in_order", all_of_them)


def take_lanes_without_their_holds(patch: pytest.MonkeyPatch) -> None:
    """A new owner of a lane that does not know which keys wait."""
    patch.setattr(Holds, "load", lambda _self, _c, _stream, lanes: {lane: {} for lane in lanes})


def share_a_lane(patch: pytest.MonkeyPatch) -> None:
    """Lanes that are taken although somebody has them."""
    taking = LaneLeases.take

    def greedy(self: LaneLeases, connection: Any, me: Any, stream: str, count: int) -> list[int]:
        taking(self, connection, me, stream, count)
        return list(range(64))

    patch.setattr(LaneLeases, "take", greedy)


def settle_without_the_entry(patch: pytest.MonkeyPatch) -> None:
    """A message that is processed, and whose entry stays in progress."""
    from todoke.work.conclude import Conclusions

    then = Conclusions.then

    def without(self: Conclusions, outcome: Any, events: Any, handler: Any, item: Any) -> Any:
        return then(self, outcome, events, handler, item._replace(settles=None))

    patch.setattr(Conclusions, "then", without)


def bury_without_telling_the_ledger(patch: pytest.MonkeyPatch) -> None:
    """A dead letter whose entry stays in progress."""
    patch.setattr(Settlements, "fail", lambda *_: None)


MUTANTS: list[Plant] = [
    settle_without_the_entry,
    bury_without_telling_the_ledger,
    break_the_fence,
    skip_the_attempt_count,
    settle_after_the_commit,
    claim_after_being_declared_dead,
    leave_the_dead_among_the_living,
    publish_what_was_rolled_back,
]
MUTANTS_OF_ORDER: list[Plant] = [
    begin_before_the_first_is_settled,
    look_past_the_barrier,
    forget_to_block,
    never_let_a_key_go_on,
    suspect_the_whole_key,
    take_lanes_without_their_holds,
    share_a_lane,
]
