"""What a handler may answer, and what becomes of its message."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.application import Placed, Shipped, history, letters, living, publish, statuses
from todoke import Backoff, Done, Outcome, Reject, Retry, Skip, Snooze, Todoke
from todoke.testing import Clock


def answering(app: Todoke, *answers: Any) -> list[int]:
    """A handler that gives these answers in turn; answers its attempts' numbers."""
    attempts: list[int] = []

    @app.on(Placed, retry=Backoff("1s", jitter=0))
    def answer(event: Placed) -> Any:
        attempts.append(1)
        return answers[min(len(attempts), len(answers)) - 1]

    publish(app, Placed(order_id=1))
    app.drain()
    return attempts


@pytest.mark.parametrize("answer", [None, Done(), Done("a result"), [], ()])
def test_done_and_nothing_mean_processed(app: Todoke, answer: Any) -> None:
    """OB-3"""
    answering(app, answer)
    assert statuses(app) == [("PROCESSED", 1)]


def test_skip_is_processed_with_its_reason(app: Todoke) -> None:
    """OB-3"""
    answering(app, Skip("guest order"))
    assert [row.note for row in history(app)] == ["guest order"]


def test_snooze_costs_no_attempt(app: Todoke, clock: Clock) -> None:
    """OB-3"""
    attempts = answering(app, Snooze("8h"), Snooze("8h"), Snooze("8h"), Done())
    for _ in range(3):
        assert [row.attempt - row.spared for row in living(app)] == [0]
        clock.advance("8h")
        app.drain()
    assert (len(attempts), statuses(app)) == (4, [("PROCESSED", 1)])


def test_snooze_comes_back_when_it_said(app: Todoke, clock: Clock) -> None:
    """OB-3"""
    until = datetime(2026, 1, 1, 9, tzinfo=UTC)
    answering(app, Snooze(until))
    assert [row.scheduled_at for row in living(app)] == [until]


def test_retry_costs_an_attempt(app: Todoke, clock: Clock) -> None:
    """ER-2"""
    answering(app, Retry("10m", reason="still closed", code="CLOSED"))
    (row,) = living(app)
    assert (row.attempt - row.spared, row.error_code, row.error_message) == (
        1, "CLOSED", "still closed",
    )  # fmt: skip
    assert row.scheduled_at == clock.now() + timedelta(minutes=10)


def test_retry_ends_with_the_policys_attempts(app: Todoke, clock: Clock) -> None:
    """ER-2 ER-3"""
    answering(app, Retry(reason="still closed"))
    clock.advance("1s")
    app.drain()
    assert [(one.code, one.attempts) for one in letters(app)] == [("RETRY", 2)]


def test_reject_is_dead_at_once(app: Todoke) -> None:
    """ER-1"""
    answering(app, Reject("no such customer", code="NO_CUSTOMER"))
    (letter,) = letters(app)
    assert (letter.code, letter.message, letter.attempts) == (
        "NO_CUSTOMER", "no such customer", 1,
    )  # fmt: skip


@pytest.mark.parametrize("answer", [42, "done", [Shipped(), 1], Shipped])
def test_any_other_answer_is_a_mistake_that_is_told(app: Todoke, answer: Any) -> None:
    """ER-1"""
    answering(app, answer)
    (letter,) = letters(app)
    assert letter.code == "WRONG_ANSWER"
    assert "it may answer None, an outcome" in letter.message


@pytest.mark.parametrize("answer", [Shipped(order_id=1), [Shipped(order_id=1)]])
def test_events_it_answers_are_published_as_it_is_settled(app: Todoke, answer: Any) -> None:
    """OB-1"""
    seen: list[int] = []

    @app.on(Shipped)
    def note(event: Shipped) -> None:
        seen.append(event.order_id)

    answering(app, answer)
    assert (seen, statuses(app)) == ([1], [("PROCESSED", 1), ("PROCESSED", 1)])


def test_an_event_that_cannot_be_published_fails_the_attempt_that_answers_it(app: Todoke) -> None:
    """ER-1"""
    answering(app, Placed(order_id=1, note="x" * 2_000_000))
    assert [one.code for one in letters(app)] == ["OVERSIZED"]


def test_an_outcome_of_middleware_is_an_outcome(app: Todoke) -> None:
    """OB-3"""

    @app.middleware
    async def closed(attempt: Any, call_next: Any) -> Outcome:
        return Skip("closed today")

    attempts = answering(app, None)
    assert (attempts, [row.note for row in history(app)]) == ([], ["closed today"])
