"""What becomes of a message is what becomes of the entry it settles, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import history, letters, living
from tests.dying import death_at
from tests.ledger.orders import Send, accept, entry, order
from todoke import (
    BusinessError,
    Done,
    Event,
    Limit,
    PermanentError,
    Retry,
    Skip,
    Snooze,
    Todoke,
    TransientError,
)
from todoke.errors import InvalidOption
from todoke.operate import Accepted, InProgress, Replay
from todoke.testing import Clock


class Receipt(BaseModel):
    number: int
    article: str = "急須"


class Refused(Event, ordered=False):
    number: int


def plainly(app: Todoke, answer: Callable[[], Any]) -> None:
    @app.on(Send)
    def send(event: Send) -> Any:
        return answer()


def in_a_session(app: Todoke, answer: Callable[[], Any]) -> None:
    @app.on(Send)
    def send(event: Send, session: Session) -> Any:
        return answer()


def in_an_async_session(app: Todoke, answer: Callable[[], Any]) -> None:
    @app.on(Send)
    async def send(event: Send, session: AsyncSession) -> Any:
        return answer()


def within_limits(app: Todoke, answer: Callable[[], Any]) -> None:
    @app.on(Send, limit=Limit(1))
    async def send(event: Send) -> Any:
        return answer()


WAYS = [plainly, in_a_session, in_an_async_session, within_limits]


@pytest.fixture(params=WAYS, ids=lambda way: str(way.__name__))
def handle(request: pytest.FixtureRequest, app: Todoke) -> Callable[[Callable[[], Any]], None]:
    """Registers a handler of one kind that answers so."""
    return lambda answer: request.param(app, answer)


Handle = Callable[[Callable[[], Any]], None]


def test_processed_is_succeeded_with_the_result(app: Todoke, clock: Clock, handle: Handle) -> None:
    """ID-5"""
    handle(lambda: Done(Receipt(number=7)))
    accepted = order(app)
    clock.advance("1m")
    app.drain()
    found = entry(app)
    assert (found.state, found.response) == ("succeeded", {"number": 7, "article": "急須"})
    assert (found.message_id, found.settled_at) == (accepted.message_id, clock.now())
    assert isinstance(accept(app), Replay)


def test_dead_is_failed_with_the_reason(app: Todoke, handle: Handle) -> None:
    """ID-5"""

    def refuse() -> None:
        raise PermanentError("The broker said no to hanako@example.com.", code="NO_MARGIN")

    handle(refuse)
    order(app)
    app.drain()
    found, (letter,) = entry(app), letters(app)
    assert (found.state, found.error_code, found.response) == ("failed", "NO_MARGIN", None)
    assert found.error_message == "The broker said no to ***@example.com."
    assert letter.message_id == found.message_id


def test_while_it_is_tried_again_it_is_in_progress(
    app: Todoke, clock: Clock, handle: Handle
) -> None:
    """ID-5"""
    answers: list[Any] = [Retry(code="BUSY"), Snooze("10s"), Done()]
    handle(lambda: answers.pop(0))
    order(app)
    app.drain()
    for _ in range(2):
        assert isinstance(accept(app), InProgress)
        clock.advance("1m")
        app.drain()
    assert (entry(app).state, entry(app).response) == ("succeeded", None)


def test_one_that_ran_out_of_attempts_is_failed(app: Todoke, clock: Clock, handle: Handle) -> None:
    """ID-5"""

    def fail() -> None:
        raise TransientError("busy", code="BUSY")

    handle(fail)
    order(app)
    for _ in range(4):
        assert entry(app).state == "accepted"
        app.drain()
        clock.advance("10m")
    assert (entry(app).state, entry(app).error_code) == ("failed", "BUSY")


def test_what_there_was_nothing_to_do_for_is_succeeded(app: Todoke, handle: Handle) -> None:
    """ID-5"""
    handle(lambda: Skip("done by phone"))
    order(app)
    app.drain()
    assert (entry(app).state, history(app)[-1].settles) == ("succeeded", entry(app).id)


def test_a_refusal_of_the_domain_is_failed_though_its_message_is_processed(
    app: Todoke, handle: Handle
) -> None:
    """ID-5 ER-1"""

    def refuse() -> None:
        raise BusinessError("no stock", code="NO_STOCK", publish=Refused(number=1))

    handle(refuse)
    order(app)
    app.drain()
    assert (entry(app).state, entry(app).error_code) == ("failed", "NO_STOCK")
    assert [letter.type for letter in letters(app)] == ["refused"]  # nobody handles it


def test_a_redrive_opens_the_entry_again(app: Todoke, clock: Clock, handle: Handle) -> None:
    """ID-5 ER-4: ledger and outbox say the same at every moment"""
    fails = [True]

    def answer() -> Done:
        if fails.pop():
            raise PermanentError("no", code="NO")
        return Done("sent")

    handle(answer)
    order(app)
    app.drain()
    fails.append(False)
    with app.session() as session:
        app.dead_letters.redrive(session, app.dead_letters.where(), by="mika", reason="again")
    assert isinstance(accept(app), InProgress)
    assert (entry(app).error_code, entry(app).expires_at) == (None, None)
    app.drain()
    assert (entry(app).state, entry(app).response) == ("succeeded", "sent")


def test_an_entry_is_kept_while_its_dead_letter_is_open(app: Todoke, clock: Clock) -> None:
    """ID-5: a redrive after the key was forgotten would send what was asked for anew, too"""

    @app.on(Send)
    def refuse(event: Send) -> None:
        raise PermanentError("no", code="NO")

    order(app)
    app.drain()
    clock.advance("7d")
    clean(app)
    assert isinstance(accept(app), Replay)
    with app.session() as session:
        app.dead_letters.resolve(session, app.dead_letters.where(), by="mika", reason="too late")
    clean(app)
    assert isinstance(accept(app), Accepted)


def test_with_several_handlers_all_have_to_end_well(app: Todoke, clock: Clock) -> None:
    """ID-5 OB-10"""
    waits = [True]

    @app.on(Send)
    def send(event: Send) -> Done:
        return Done("sent")

    @app.on(Send)
    def note(event: Send) -> Retry | None:
        return Retry("1m") if waits.pop() else None

    order(app)
    app.drain()
    assert entry(app).state == "accepted"
    waits.append(False)
    clock.advance("1m")
    app.drain()
    assert entry(app).state == "succeeded"


def test_with_several_handlers_one_death_is_a_failure(app: Todoke) -> None:
    """ID-5 OB-10: until it is redriven"""
    fails = [True]

    @app.on(Send)
    def send(event: Send) -> None:
        if fails.pop():
            raise PermanentError("no", code="NO")

    @app.on(Send)
    def note(event: Send) -> None: ...

    order(app)
    app.drain()
    assert entry(app).state == "failed"
    fails.append(False)
    with app.session() as session:
        app.dead_letters.redrive(session, app.dead_letters.where(), by="mika", reason="again")
    app.drain()
    assert entry(app).state == "succeeded"


def test_a_result_that_cannot_be_kept_fails_nothing(
    app: Todoke, caplog: pytest.LogCaptureFixture
) -> None:
    """ID-5: what was done is done"""

    @app.on(Send)
    def send(event: Send) -> Done:
        return Done(object())

    order(app)
    app.drain()
    assert (entry(app).state, entry(app).response) == ("succeeded", None)
    assert "its result is not kept" in caplog.text


def test_an_event_without_an_entry_is_settled_as_ever(app: Todoke) -> None:
    """ID-5"""

    @app.on(Send)
    def send(event: Send) -> Done:
        return Done("nobody asks")

    with app.session() as session:
        app.publish(session, Send())
    app.drain()
    assert [row.settles for row in history(app)] == [None]


def test_a_rollback_takes_key_and_event_along(app: Todoke) -> None:
    """ID-2: both or neither"""
    with app.session() as session:
        answer = app.ledger.accept(session, "k-1", {})
        assert isinstance(answer, Accepted)
        app.publish(session, Send(), settles=answer.entry)
        session.rollback()
    assert living(app) == []
    assert isinstance(accept(app), Accepted)


def test_an_entry_knows_that_a_message_settles_it(app: Todoke) -> None:
    """ID-5: by which a key that nobody would ever settle is found out"""
    with app.session() as session:
        answer = app.ledger.accept(session, "k-1", {})
        assert isinstance(answer, Accepted)
        assert not answer.entry.has_message
        app.publish(session, Send(), settles=answer.entry)
        assert answer.entry.has_message


def test_only_an_entry_can_be_settled(app: Todoke) -> None:
    """ID-5"""
    with app.session() as session:
        answer: Any = app.ledger.accept(session, "k-1", {})
        with pytest.raises(InvalidOption, match=r"accepted\.entry"):
            app.publish(session, Send(), settles=answer)


ENTRY = ["ledger.before_settle", "ledger.after_settle"]
SETTLE = ["settle.before_commit", "settle.after_commit"]
COMMIT = ["handler.before_commit", "handler.after_commit"]
DEATHS = [
    *((plainly, "sent", point) for point in ("handler.after_call", *ENTRY, *SETTLE)),
    *((plainly, "refused", point) for point in (*ENTRY, *SETTLE)),
    *((in_a_session, "sent", point) for point in ("handler.after_guard", *ENTRY, *COMMIT)),
    *((in_a_session, "refused", point) for point in (*ENTRY, *SETTLE)),
]


@pytest.mark.parametrize(
    ("way", "end", "point"), DEATHS, ids=[f"{way.__name__}-{end}-{at}" for way, end, at in DEATHS]
)
def test_whoever_dies_leaves_message_and_entry_together(
    app: Todoke, clock: Clock, way: Any, end: str, point: str
) -> None:
    """ID-5: at every moment both are settled, or neither"""

    def answer() -> Done:
        if end == "refused":
            raise PermanentError("no", code="NO")
        return Done("sent")

    way(app, answer)
    order(app)
    with death_at(point):
        app.drain()
    settled = not living(app)
    assert (entry(app).state != "accepted") == settled
    clock.advance("1m")
    app.drain()
    assert entry(app).state == ("succeeded" if end == "sent" else "failed")
    assert living(app) == []


def clean(app: Todoke) -> None:
    with app.engine.connect() as connection:
        app.archive.run(connection)
