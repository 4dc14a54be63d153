"""What people do with dead letters: send them through again, or close them for good."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from tests.application import Placed, letters, living, publish, statuses
from todoke import Todoke
from todoke.errors import InvalidOption, TodokeError
from todoke.operate import DeadLetter, Operation
from todoke.testing import Clock

WHO: dict[str, Any] = {"by": "mika", "reason": "the relay is back"}


@pytest.fixture
def letter(app: Todoke) -> DeadLetter:
    return bury(app, 1)[0]


def bury(app: Todoke, *orders: int, note: str = "refuse") -> list[DeadLetter]:
    publish(app, *(Placed(order_id=order, note=note) for order in orders))
    app.drain()
    return letters(app)


def redrive(app: Todoke, **options: Any) -> Operation:
    with app.session() as session:
        return app.dead_letters.redrive(session, app.dead_letters.where(), **{**WHO, **options})


def closed(app: Todoke) -> list[DeadLetter]:
    with app.session() as session:
        return app.dead_letters.list(session, closed=True).items


def operations(app: Todoke) -> list[Row[Any]]:
    table = app.metadata.tables[app.outbox_table.live.fullname.replace("outbox", "operations")]
    with app.engine.connect() as connection:
        return list(connection.execute(select(table).order_by(table.c.id)))


def test_a_redriven_letter_goes_through_as_it_was(app: Todoke, letter: DeadLetter) -> None:
    """ER-4"""
    assert redrive(app) == Operation(1, "redrive", 1, 1)
    (row,) = living(app)
    assert (row.message_id, row.body, row.attempt - row.spared, row.state) == (
        letter.message_id, letter.body, 0, "ready",
    )  # fmt: skip
    assert letters(app) == []
    assert [(one.id, one.closed_as) for one in closed(app)] == [(letter.id, "redriven")]


def test_a_redriven_letter_that_dies_again_is_a_new_letter(app: Todoke, letter: DeadLetter) -> None:
    """ER-4"""
    redrive(app)
    app.drain()
    (again,) = letters(app)
    assert again.id != letter.id
    assert again.message_id == letter.message_id


def test_a_corrected_letter_goes_through_and_the_old_payload_is_kept(
    app: Todoke, letter: DeadLetter, seen: list[Placed]
) -> None:
    """ER-4"""
    redrive(app, payload={"order_id": 1, "note": "fine"})
    app.drain()
    (kept,) = closed(app)
    assert seen == [Placed(order_id=1, note="fine")]
    assert (kept.body, kept.corrected_body) == (
        letter.body, '{"note":"fine","order_id":1}',
    )  # fmt: skip


@pytest.mark.parametrize(
    "payload",
    [{"order_id": "no number"}, {}, {"order_id": 1, "note": float("nan")}, {"order_id": object()}],
    ids=["wrong", "missing", "NaN", "object"],
)
def test_a_payload_its_event_cannot_be_read_from_is_refused(
    app: Todoke, letter: DeadLetter, payload: dict[str, Any]
) -> None:
    """ER-4"""
    with pytest.raises(TodokeError, match="payload"):
        redrive(app, payload=payload)
    assert (len(letters(app)), living(app), operations(app)) == (1, [], [])


def test_many_letters_cannot_have_one_payload(app: Todoke) -> None:
    """ER-4"""
    bury(app, 1, 2)
    with pytest.raises(InvalidOption, match="correct one at a time"):
        redrive(app, payload={"order_id": 1})


def test_a_rate_spreads_them(app: Todoke, clock: Clock) -> None:
    """ER-4"""
    bury(app, *range(5))
    redrive(app, rate="2/s")
    waits = sorted((row.scheduled_at - clock.now()) / timedelta(seconds=1) for row in living(app))
    assert waits == [0.0, 0.5, 1.0, 1.5, 2.0]


@pytest.mark.parametrize("rate", ["10", "0/s", "10/d", "fast", "-1/s"])
def test_a_rate_that_cannot_be_meant_is_refused(app: Todoke, letter: DeadLetter, rate: str) -> None:
    """ER-4"""
    with pytest.raises(InvalidOption, match='write "10/s"'):
        redrive(app, rate=rate)


def test_a_dry_run_changes_nothing(app: Todoke) -> None:
    """ER-4"""
    before = bury(app, 1, 2)
    assert redrive(app, dry_run=True) == Operation(0, "redrive", 2, 0)
    assert (letters(app), living(app), operations(app)) == (before, [], [])


def test_a_resolved_letter_is_closed_for_good(app: Todoke, letter: DeadLetter) -> None:
    """ER-4"""
    with app.session() as session:
        done = app.dead_letters.resolve(session, app.dead_letters.where(ids=[letter.id]), **WHO)
    assert done == Operation(1, "resolve", 1, 1)
    assert (letters(app), living(app)) == ([], [])
    assert [one.closed_as for one in closed(app)] == ["resolved"]
    assert statuses(app) == [("DEAD", 1)]


@pytest.mark.parametrize("wrong", [{"by": "  "}, {"reason": "  "}, {"by": "k" * 256}])
@pytest.mark.parametrize("act", ["redrive", "resolve"])
def test_who_and_why_are_required(
    app: Todoke, letter: DeadLetter, act: str, wrong: dict[str, str]
) -> None:
    """ER-4"""
    with app.session() as session, pytest.raises(InvalidOption, match=r"^(by|reason)"):
        call = getattr(app.dead_letters, act)
        call(session, app.dead_letters.where(), **{**WHO, **wrong})
    assert len(letters(app)) == 1


def test_every_act_is_kept_with_who_when_and_what(app: Todoke, clock: Clock) -> None:
    """ER-4"""
    bury(app, 1, 2)
    clock.advance("1h")
    with app.session() as session:
        chosen = app.dead_letters.where(code="NO_CUSTOMER", older_than="30m")
        app.dead_letters.resolve(session, chosen, **WHO)
    (one,) = operations(app)
    assert (one.kind, one.author, one.reason, one.selected, one.done_at) == (
        "resolve", "mika", "the relay is back", 2, clock.now(),
    )  # fmt: skip
    assert one.selection == '{"code":"NO_CUSTOMER","older_than":"1800s"}'
    assert {letter.operation_id for letter in closed(app)} == {one.id}


def test_what_was_closed_is_not_chosen_again(app: Todoke, letter: DeadLetter) -> None:
    """ER-4"""
    redrive(app)
    assert redrive(app).selected == 0


def test_an_act_that_is_rolled_back_did_not_happen(app: Todoke, letter: DeadLetter) -> None:
    """ER-4"""
    with Session(app.engine) as session:
        app.dead_letters.redrive(session, app.dead_letters.where(), **WHO)
        session.rollback()
    assert (len(letters(app)), living(app), operations(app)) == (1, [], [])


def test_an_expired_message_has_no_last_moment_any_more(
    app: Todoke, clock: Clock, seen: list[Placed]
) -> None:
    """OB-13 ER-4"""
    publish(app, Placed(order_id=1), expires="1s")
    clock.advance("2s")
    app.drain()
    redrive(app)
    app.drain()
    assert seen == [Placed(order_id=1)]


async def test_async_handles_do_the_same(app: Todoke) -> None:
    """ER-4"""
    bury(app, 1, 2)
    every = app.dead_letters.where()
    async with app.async_session() as session:
        page = await app.dead_letters.list(session, every)
        first: UUID = page.items[0].id
        assert (await app.dead_letters.get(session, first)).id == first
        assert await app.dead_letters.count(session) == 2
        await app.dead_letters.resolve(session, app.dead_letters.where(ids=[first]), **WHO)
    async with app.async_engine.begin() as connection:
        done = await app.dead_letters.redrive(connection, every, **WHO)
    assert (done.selected, len(living(app)), letters(app)) == (1, 1, [])


def test_a_plain_connection_does_the_same(app: Todoke, letter: DeadLetter) -> None:
    """ER-4"""
    with app.engine.begin() as connection:
        assert app.dead_letters.redrive(connection, app.dead_letters.where(), **WHO).done == 1
    assert letters(app) == []
