"""A key is accepted once; who comes later is told what became of it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import select

from tests.application import rows
from tests.dying import death_at
from tests.ledger.orders import accept, entry
from tests.waiting import until
from todoke import Todoke
from todoke.errors import AlreadySettled, InvalidKey, InvalidOption, Undigestible
from todoke.operate import Accepted, Conflict, InProgress, LedgerEntry, Replay
from todoke.testing import Clock


class Transfer(BaseModel):
    account: str
    amount: str


def test_the_first_is_accepted_and_a_repeat_is_in_progress(app: Todoke, clock: Clock) -> None:
    """ID-1 ID-2"""
    first = accept(app)
    assert isinstance(first, Accepted)
    assert (first.entry.state, first.entry.accepted_at) == ("accepted", clock.now())
    assert (first.entry.settled_at, first.entry.expires_at) == (None, None)
    assert accept(app) == InProgress(first.entry, 5)


def test_a_repeat_gets_the_stored_response(app: Todoke, clock: Clock) -> None:
    """ID-1 ID-2"""
    with app.session() as session:
        answer = app.ledger.accept(session, "k-1", {"n": 1})
        app.ledger.succeed(session, answer.entry, {"receipt": "7", "名": "急須"}, status_code=201)
    replay = accept(app)
    assert isinstance(replay, Replay)
    assert replay.response == {"receipt": "7", "名": "急須"}
    assert (replay.entry.state, replay.entry.status_code) == ("succeeded", 201)
    assert replay.entry.settled_at == clock.now()
    assert replay.entry.expires_at == clock.now() + timedelta(hours=24)


def test_a_refusal_is_an_outcome_like_any_other(app: Todoke) -> None:
    """ID-1: stored, so that a repeat is not answered otherwise"""
    with app.session() as session:
        answer = app.ledger.accept(session, "k-1", {"n": 1})
        app.ledger.fail(session, answer.entry, "NO_FUNDS", "The account is empty.")
    replay = accept(app)
    assert isinstance(replay, Replay)
    found = replay.entry
    assert (found.state, found.error_code) == ("failed", "NO_FUNDS")
    assert found.error_message == "The account is empty."


@pytest.mark.parametrize("settled", [False, True])
def test_another_request_under_the_same_key_is_a_conflict(app: Todoke, settled: bool) -> None:
    """ID-2"""
    first = accept(app)
    if settled:
        with app.session() as session:
            app.ledger.succeed(session, first.entry)
    assert isinstance(accept(app, request={"n": 2}), Conflict)
    assert entry(app).digest == first.entry.digest


def test_a_rollback_leaves_the_key_free(app: Todoke) -> None:
    """ID-1: the key is accepted with the caller's commit, or not at all"""
    with app.session() as session:
        app.ledger.accept(session, "k-1", {"n": 1})
        session.rollback()
    assert isinstance(accept(app, request={"n": 2}), Accepted)


SCOPES: list[dict[str, str]] = [
    {},
    {"tenant": "a"},
    {"caller": "a"},
    {"operation": "a"},
    {"tenant": "a", "caller": "a"},
    {"caller": "A"},
    {"caller": "a "},
    {"caller": "\u00e1"},
    {"caller": "a\u0301"},
]


def test_the_same_key_of_another_caller_is_another_key(app: Todoke) -> None:
    """ID-1: by tenant, caller and operation, and byte for byte"""
    for number, scope in enumerate(SCOPES):
        answer = accept(app, request={"n": number}, **scope)
        assert isinstance(answer, Accepted), scope
    for key in ("K-1", "k-1 ", "ｋ-1", "k-1,a"):
        assert isinstance(accept(app, key), Accepted), key


WRONG_KEYS = ["", "   ", "x" * 256, "a\nb", "a\0b", "a\u2028b", "\ud800", 7, None]


def test_what_cannot_be_a_key_is_refused(app: Todoke) -> None:
    """ID-1"""
    for key in WRONG_KEYS:
        with pytest.raises(InvalidKey, match="Send a UUID"):
            accept(app, key)  # type: ignore[arg-type]
    assert rows(app, app.ledger.table) == []


def test_a_key_may_be_as_long_as_the_column(app: Todoke) -> None:
    """ID-1"""
    assert isinstance(accept(app, "届" * 255), Accepted)
    with pytest.raises(InvalidOption, match="limit is 255"):
        accept(app, caller="x" * 256)


NO_JSON = [float("nan"), 2**53 + 1, "\ud800", {1: 2}, {"a": {object()}}, [[1.0e400]], object()]


def test_a_request_that_has_no_canonical_form_is_refused(app: Todoke) -> None:
    """ID-1"""
    for request in NO_JSON:
        with pytest.raises(Undigestible, match="Write large numbers and money as text"):
            accept(app, request=request)
    assert rows(app, app.ledger.table) == []


def test_a_model_and_the_json_it_is_written_as_are_one_request(app: Todoke) -> None:
    """ID-1"""
    first = accept(app, request=Transfer(account="a", amount="1.50"))
    assert isinstance(accept(app, request={"amount": "1.50", "account": "a"}), InProgress)
    assert isinstance(accept(app, request={"amount": "1.5", "account": "a"}), Conflict)
    assert len(first.entry.digest) == 64


def test_what_is_accepted_never_expires(app: Todoke, clock: Clock) -> None:
    """ID-5: nothing is known yet that could be forgotten"""
    accept(app)
    clock.advance("3650d")
    clean(app)
    assert isinstance(accept(app), InProgress)


def test_an_entry_is_kept_for_its_time_after_it_was_settled(app: Todoke, clock: Clock) -> None:
    """ID-1"""
    first = accept(app, expires="1h")
    clock.advance("5h")
    with app.session() as session:
        app.ledger.succeed(session, first.entry)
    clock.advance("59m")
    clean(app)
    assert isinstance(accept(app), Replay)
    clock.advance("1m")
    assert isinstance(accept(app, request={"n": 2}), Accepted)


def test_what_has_expired_is_cleaned(app: Todoke, clock: Clock) -> None:
    """ID-1"""
    with app.session() as session:
        answer = app.ledger.accept(session, "k-1", {})
        app.ledger.succeed(session, answer.entry)
    clock.advance("24h")
    clean(app)
    assert rows(app, app.ledger.table) == []


def test_an_entry_is_settled_once(app: Todoke, clock: Clock) -> None:
    """ID-1: a second word changes nothing"""
    first = accept(app)
    with app.session() as session:
        app.ledger.succeed(session, first.entry, "one")
    with app.session() as session, pytest.raises(AlreadySettled, match="is succeeded already"):
        app.ledger.fail(session, first.entry, "NO")
    assert entry(app).response == "one"
    clock.advance("25h")
    clean(app)
    with app.session() as session, pytest.raises(AlreadySettled, match="has expired"):
        app.ledger.succeed(session, first.entry)


def test_an_old_entry_does_not_settle_the_one_that_took_its_key(app: Todoke, clock: Clock) -> None:
    """ID-1"""
    with app.session() as session:
        old = app.ledger.accept(session, "k-1", {}).entry
        app.ledger.succeed(session, old, "old")
    clock.advance("25h")
    accept(app)
    with app.session() as session, pytest.raises(AlreadySettled):
        app.ledger.succeed(session, old, "old again")
    assert entry(app).state == "accepted"


def test_a_response_that_is_no_json_is_refused(app: Todoke) -> None:
    """ID-1"""
    first = accept(app)
    for wrong in (float("nan"), object(), "x" * 1024 * 1024):
        with app.session() as session, pytest.raises(InvalidOption, match="no strict JSON"):
            app.ledger.succeed(session, first.entry, wrong)
    with app.session() as session, pytest.raises(InvalidOption, match="at most 100 characters"):
        app.ledger.fail(session, first.entry, "")
    assert entry(app).state == "accepted"


def test_a_list_is_newest_first_and_can_be_narrowed(app: Todoke, clock: Clock) -> None:
    """ID-1"""
    for number in range(3):
        clock.advance("1s")
        accept(app, f"k-{number}", caller="x")
    with app.session() as session:
        assert [one.key for one in app.ledger.list(session)] == ["k-2", "k-1", "k-0"]
        assert [one.key for one in app.ledger.list(session, limit=1)] == ["k-2"]
        assert [one.caller for one in app.ledger.list(session, key="k-1")] == ["x"]
        assert app.ledger.list(session, state="failed") == []
        with pytest.raises(InvalidOption, match="accepted, succeeded, failed"):
            app.ledger.list(session, state="DONE")


def test_a_stored_response_is_not_shown_by_accident(app: Todoke) -> None:
    """ID-1: an entry that lands in a log does not carry it"""
    with app.session() as session:
        answer = app.ledger.accept(session, "k-1", {})
        assert "hanako" not in repr(app.ledger.succeed(session, answer.entry, "hanako"))


@pytest.mark.parametrize("commits", [True, False])
def test_a_second_caller_waits_for_the_first(app: Todoke, commits: bool) -> None:
    """ID-3: and gets its outcome, or the key if it was rolled back"""
    second: list[Any] = []
    begun = threading.Event()

    def ask() -> None:
        begun.set()
        second.append(accept(app))

    with app.engine.connect() as connection:
        first = app.ledger.accept(connection, "k-1", {"n": 1})
        other = threading.Thread(target=ask)
        other.start()
        begun.wait()
        other.join(0.2)
        assert second == []
        if commits:
            connection.commit()
        else:
            connection.rollback()
    until(lambda: bool(second))
    other.join()
    assert second[0] == InProgress(first.entry, 5) if commits else isinstance(second[0], Accepted)


def test_of_many_at_the_same_instant_one_is_accepted(app: Todoke) -> None:
    """ID-3"""
    callers = 12
    together = threading.Barrier(callers)

    def ask(_: int) -> Any:
        together.wait()
        return accept(app)

    with ThreadPoolExecutor(callers) as pool:
        answers = list(pool.map(ask, range(callers)))
    assert sorted(type(one).__name__ for one in answers) == ["Accepted"] + ["InProgress"] * 11
    assert len({one.entry.message_id for one in answers}) == 1


def test_who_waits_for_one_that_is_rolled_back_gets_no_deadlock(app: Todoke) -> None:
    """ID-3: MariaDB ends some of those that wait, to let one of them in"""
    callers = 10

    def ask(number: int) -> str:
        with app.engine.connect() as connection:
            answer = app.ledger.accept(connection, f"k-{number // callers}", {})
            if number % callers < 5:  # those that get in first, mostly
                connection.rollback()
                return "rolled back"
            connection.commit()
            return type(answer).__name__

    with ThreadPoolExecutor(callers) as pool:
        answers = list(pool.map(ask, range(30 * callers)))
    assert set(answers) <= {"rolled back", "Accepted", "InProgress"}
    assert answers.count("Accepted") == 30


def test_a_deadlock_behind_other_statements_is_the_callers(app: Todoke) -> None:
    """ID-3: what was done before is gone, so it must not go on as if nothing had happened"""
    with app.engine.connect() as connection:
        assert app.database.is_untouched(connection) == (app.database.kind != "sqlite")
        connection.execute(select(app.ledger.table))
        assert not app.database.is_untouched(connection)


@pytest.mark.parametrize("point", ["accept.before_insert", "accept.after_insert"])
def test_death_while_accepting_leaves_the_key_free(app: Todoke, point: str) -> None:
    """ID-1"""
    with death_at(point):
        accept(app)
    assert isinstance(accept(app, request={"n": 2}), Accepted)


def test_what_is_no_entry_settles_nothing(app: Todoke) -> None:
    """ID-1"""
    answer = accept(app)
    with app.session() as session, pytest.raises(InvalidOption, match="pass the entry"):
        app.ledger.succeed(session, answer)
    assert isinstance(answer.entry, LedgerEntry)


def clean(app: Todoke) -> None:
    with app.engine.connect() as connection:
        app.archive.run(connection)
