"""Archived rows come back as they were, and stay."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from tests.application import Shipped, history, letters, living, publish, statuses
from tests.dying import death_at
from tests.retention.old_rows import (
    REFUSED,
    all_letters,
    archived,
    as_line,
    bury,
    clean,
    delivered,
    files,
    process,
    settled,
)
from todoke import Todoke
from todoke.errors import InvalidOption, UnreadableArchive
from todoke.operate import Restored
from todoke.testing import Clock


def restore(app: Todoke, **options: Any) -> Restored:
    with app.session() as session:
        return app.archive.restore(session, files(app), **options)


def without_date(row: Any) -> dict[str, Any]:
    return as_line(row) | {"expires_at": None}


def test_restored_rows_are_what_they_were(app: Todoke, clock: Clock) -> None:
    """OB-12 ER-5: but for the date of their own, which keeps them"""
    process(app, 1, 2)
    publish(app, Shipped(order_id=7))
    app.drain()
    bury(app, 8)
    looks = (history, delivered, all_letters)
    before = [[as_line(row) for row in look(app)] for look in looks]
    clock.advance("20d")
    clean(app)
    told = restore(app)
    assert told.restored == {"event": 3, "delivery": 2, "dead-letter": 1}
    assert not told.present
    assert [[without_date(row) for row in look(app)] for look in looks] == before


def test_what_is_there_already_stays_as_it_is(app: Todoke, clock: Clock) -> None:
    """OB-12: also what stands in the archive twice"""
    process(app, 1)
    clock.advance("7d")
    with death_at("retention.after_write"):
        clean(app)
    clean(app)
    assert len(archived(app)) == 2
    told = restore(app)
    assert (told.restored, told.present) == ({"event": 1}, {"event": 1})
    assert restore(app).present == {"event": 2}
    assert settled(app) == [1]


def test_restored_rows_are_kept_as_long_as_new_ones(app: Todoke, clock: Clock) -> None:
    """OB-12 ER-5: the cleaner does not take them again at once"""
    process(app, 1)
    bury(app, 2)
    clock.advance("20d")
    clean(app)
    restore(app)
    clock.advance(timedelta(days=7, seconds=-1))
    assert clean(app) == {}
    clock.advance("1s")
    assert clean(app) == {"event": 1}
    clock.advance("7d")
    assert clean(app) == {"dead-letter": 1}


def test_a_restored_letter_can_be_redriven(app: Todoke, clock: Clock) -> None:
    """ER-4 ER-5"""
    bury(app, 1)
    clock.advance("14d")
    clean(app)
    restore(app)
    (letter,) = letters(app)
    with app.session() as session:
        chosen = app.dead_letters.where(ids=[letter.id])
        payload = {"order_id": 1, "note": "fine"}
        app.dead_letters.redrive(session, chosen, by="ken", reason="again", payload=payload)
    app.drain()
    assert (statuses(app), living(app), letters(app)) == ([("PROCESSED", 1)], [], [])


def test_what_is_redriven_late_is_kept_like_any_other(app: Todoke, clock: Clock) -> None:
    """OB-12 ER-4: the date that kept its letter is not that of the message"""
    bury(app, 1)
    clock.advance("14d")
    clean(app)
    restore(app)
    clock.advance(timedelta(days=14, seconds=-1))
    with app.session() as session:
        chosen, payload = app.dead_letters.where(), {"order_id": 1, "note": "fine"}
        app.dead_letters.redrive(session, chosen, by="ken", reason="again", payload=payload)
    app.drain()
    clock.advance("6d")
    clean(app)
    assert settled(app) == [1]


def test_a_letter_whose_message_was_processed_since_does_not_come_back(
    app: Todoke, clock: Clock
) -> None:
    """ER-4 ER-5: redriven once more it would be handled twice"""
    test_a_restored_letter_can_be_redriven(app, clock)
    with app.engine.begin() as connection:
        connection.execute(app.letter_table.delete())
    told = restore(app, kind="dead-letter")
    assert (told.restored, told.present) == ({}, {"dead-letter": 1})
    assert all_letters(app) == []


def test_a_letter_that_was_closed_comes_back_closed(app: Todoke, clock: Clock) -> None:
    """ER-4 ER-5: whichever of its files is restored"""
    bury(app, 1)
    clock.advance("14d")
    clean(app)
    (opened,) = files(app)
    restore(app)
    with app.session() as session:
        app.dead_letters.resolve(session, app.dead_letters.where(), by="ken", reason="old")
    clock.advance("14d")
    assert clean(app) == {"dead-letter": 1}
    with app.session() as session:
        app.archive.restore(session, [opened])
    (letter,) = all_letters(app)
    assert (letter.closed_as, letter.operation_id) == ("resolved", 1)
    assert clean(app) == {}


def test_rows_are_chosen_by_message_and_kind(app: Todoke, clock: Clock) -> None:
    """OB-12"""
    publish(app, Shipped(order_id=1), Shipped(order_id=2))
    app.drain()
    wanted = history(app)[0].message_id
    clock.advance("20d")
    clean(app)
    assert restore(app, message=wanted, kind="delivery").restored == {"delivery": 2}
    assert restore(app, message=wanted).restored == {"event": 1}
    assert {row.message_id for row in [*history(app), *delivered(app)]} == {wanted}


def test_what_cannot_be_restored_is_refused(app: Todoke) -> None:
    """OB-12"""
    with app.session() as session:
        with pytest.raises(InvalidOption, match="one of event, delivery, job, dead-letter"):
            app.archive.restore(session, [], kind="order")
        with pytest.raises(UnreadableArchive, match=r"nowhere.*no such file"):
            app.archive.restore(session, ["nowhere.jsonl.gz"])


def test_a_file_is_found_by_its_name_alone(app: Todoke, clock: Clock) -> None:
    """OB-12"""
    process(app, 1)
    clock.advance("7d")
    clean(app)
    (file,) = files(app)
    with app.session() as session:
        assert app.archive.restore(session, [file.name]).restored == {"event": 1}


async def test_async_handles_do_the_same(app: Todoke, clock: Clock) -> None:
    """OB-12"""
    process(app, 1)
    clock.advance("7d")
    async with app.async_engine.connect() as connection:
        assert isinstance(connection, AsyncConnection)
        assert (await app.archive.run(connection))["event"] == 1
    async with app.async_session() as session:
        told = await app.archive.restore(session, files(app))
    assert told.restored == {"event": 1}
    await app.async_engine.dispose()


def test_a_run_in_the_callers_transaction_is_refused(app: Todoke) -> None:
    """OB-12: it commits by itself"""
    with app.session() as session, pytest.raises(InvalidOption, match=r"app\.engine\.connect"):
        app.archive.run(session)


def test_a_dry_run_counts_and_changes_nothing(app: Todoke, clock: Clock) -> None:
    """OB-12"""
    process(app, *range(3))
    publish(app, Shipped())
    app.drain()
    bury(app, 7)
    clock.advance("20d")
    process(app, 9, note=REFUSED)
    assert clean(app, dry_run=True) == {"event": 4, "delivery": 2, "dead-letter": 1}
    assert (len(history(app)), len(delivered(app)), len(all_letters(app))) == (4, 2, 2)
    assert files(app) == []
    assert clean(app) == {"event": 4, "delivery": 2, "dead-letter": 1}
