"""What kind of failure it was decides what becomes of the message."""

from __future__ import annotations

import pytest

from tests.application import Placed, Shipped, history, letters, living, publish, statuses
from todoke import BusinessError, Context, PermanentError, Reject, Todoke, TransientError
from todoke.testing import Clock
from todoke.types import ErrorClass


class Odd(Exception):
    """A third party's exception."""


def raising(app: Todoke | Context, error: Exception) -> None:
    @app.on(Placed, name="raises")
    def raises(event: Placed) -> None:
        raise error


def run(app: Todoke, error: Exception) -> None:
    raising(app, error)
    publish(app, Placed(order_id=1))
    app.drain()


def test_a_permanent_error_is_dead_at_once(app: Todoke) -> None:
    """ER-1"""
    run(app, PermanentError("no such order", code="NO_ORDER"))
    (letter,) = letters(app)
    assert (letter.error_class, letter.code, letter.attempts) == ("permanent", "NO_ORDER", 1)


def test_a_transient_error_is_tried_again(app: Todoke) -> None:
    """ER-1"""
    run(app, TransientError("busy", code="BUSY"))
    assert [(row.error_class, row.error_code) for row in living(app)] == [("transient", "BUSY")]


def test_an_unknown_error_is_transient(app: Todoke) -> None:
    """ER-1"""
    run(app, KeyError("x"))
    assert [(row.error_class, row.error_code) for row in living(app)] == [
        ("transient", "KEY_ERROR")
    ]


def test_a_timeout_is_a_class_of_its_own(app: Todoke) -> None:
    """ER-1"""
    run(app, TimeoutError("too slow"))
    assert [(row.error_class, row.error_code) for row in living(app)] == [("timeout", "TIMEOUT")]


def test_a_business_error_with_an_event_publishes_it_and_is_processed(app: Todoke) -> None:
    """ER-1"""
    seen: list[int] = []
    raising(app, BusinessError("no credit", code="CREDIT", publish=Shipped(order_id=9)))

    @app.on(Shipped)
    def note(event: Shipped) -> None:
        seen.append(event.order_id)

    publish(app, Placed(order_id=1))
    app.drain()
    assert (seen, letters(app)) == ([9], [])
    assert [row.note for row in history(app) if row.type == "placed"] == ["CREDIT: no credit"]


def test_a_business_error_without_an_event_is_dead(app: Todoke) -> None:
    """ER-1"""
    run(app, BusinessError("no credit", code="CREDIT"))
    assert [(one.error_class, one.code) for one in letters(app)] == [("business", "CREDIT")]


def test_a_business_error_whose_event_cannot_be_published_is_dead(app: Todoke) -> None:
    """ER-1"""
    run(app, BusinessError("no credit", publish=Placed(order_id=1, note="x" * 2_000_000)))
    assert [one.code for one in letters(app)] == ["OVERSIZED"]


def test_a_third_partys_exception_is_classified_by_type(app: Todoke) -> None:
    """ER-1"""
    app.classify(Odd, "permanent")
    run(app, Odd("refused"))
    assert [(one.error_class, one.code) for one in letters(app)] == [("permanent", "ODD")]


def test_a_third_partys_exception_is_classified_by_a_function(app: Todoke) -> None:
    """ER-1"""
    app.classify(Odd, lambda error: "permanent" if "404" in str(error) else "transient")
    run(app, Odd("500"))
    assert statuses(app) == [("PENDING", 1)]


def test_a_contexts_verdict_wins_over_the_applications(app: Todoke) -> None:
    """ER-1"""
    ordering = Context("ordering")
    app.include(ordering)
    app.classify(Odd, "transient")
    ordering.classify(Odd, "permanent")
    raising(ordering, Odd("x"))
    with app.session() as session:
        ordering.publish(session, Placed(order_id=1))
    app.drain()
    assert statuses(app) == [("DEAD", 1)]


def test_a_classifier_that_fails_itself_costs_an_attempt_and_no_more(app: Todoke) -> None:
    """ER-1 OB-8"""
    verdicts: dict[str, ErrorClass] = {}
    app.classify(Odd, lambda error: verdicts[str(error)])
    run(app, Odd("x"))
    assert statuses(app) == [("PENDING", 1)]


def test_a_foreign_exception_with_an_after_of_its_own_is_just_a_failure(app: Todoke) -> None:
    """ER-1"""
    error = Odd("slow down")
    error.after = 30  # type: ignore[attr-defined]
    run(app, error)
    assert statuses(app) == [("PENDING", 1)]


@pytest.mark.parametrize(
    "text", ["half \ud800 a character", "a \0 zero", "x" * 30_000], ids=["half", "zero", "long"]
)
def test_an_error_of_any_text_is_retried_like_any_other(app: Todoke, text: str) -> None:
    """ER-1 OB-8: what cannot be written must not stop the worker"""
    run(app, Odd(text))
    assert statuses(app) == [("PENDING", 1)]


@pytest.mark.parametrize("text", ["half \ud800", "a \0 zero"], ids=["half", "zero"])
def test_a_reason_of_any_text_can_be_kept(app: Todoke, text: str) -> None:
    """ER-1 ER-3"""

    @app.on(Placed)
    def reject(event: Placed) -> Reject:
        return Reject(text, code="C" * 300)

    publish(app, Placed(order_id=1))
    app.drain()
    assert [one.code for one in letters(app)] == ["C" * 100]


def test_an_address_is_masked_in_what_people_see(app: Todoke) -> None:
    """SE-2 ER-3"""
    run(app, PermanentError("refused: mika@example.jp"))
    (letter,) = letters(app)
    assert "mika@" not in letter.message + letter.traceback
    assert "***@example.jp" in letter.message


def test_an_attempt_to_end_the_process_is_a_failure_like_any_other(
    app: Todoke, clock: Clock
) -> None:
    """OB-8: some libraries call sys.exit"""

    @app.on(Placed)
    def leave(event: Placed) -> None:
        raise SystemExit(2)

    publish(app, Placed(order_id=1))
    app.drain()
    assert statuses(app) == [("PENDING", 1)]


async def cancelled() -> None:
    import asyncio

    task = asyncio.ensure_future(asyncio.Event().wait())
    task.cancel()
    await task


def test_a_cancelled_part_of_a_handler_is_a_failure_like_any_other(app: Todoke) -> None:
    """OB-8"""

    @app.on(Placed)
    async def wait(event: Placed) -> None:
        await cancelled()

    publish(app, Placed(order_id=1))
    app.drain()
    assert statuses(app) == [("PENDING", 1)]
