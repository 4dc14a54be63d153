"""`todoke ledger`."""

from __future__ import annotations

import pytest

from tests.cli.parcels import ParcelSent
from tests.cli.project import Project
from todoke.operate import Accepted

LIGHT = ParcelSent(parcel=1, mail="mika@example.com", weight=3)
HEAVY = ParcelSent(parcel=2, mail="mika@example.com", weight=300)


def accept(project: Project, key: str, event: ParcelSent | None = None, **scope: str) -> None:
    """Under this key, settled by the event's message; without an event it is left open."""
    app = project.app
    with app.session() as session:
        answer = app.ledger.accept(session, key, {"parcel": 1}, **scope)
        assert isinstance(answer, Accepted)
        if event is not None:
            app.publish(session, event, settles=answer.entry)


@pytest.fixture
def worked(any_project: Project) -> Project:
    """One key succeeded, one failed, one accepted."""
    accept(any_project, "light", LIGHT, caller="mika@example.com", operation="send")
    accept(any_project, "heavy", HEAVY, caller="ken", operation="send")
    any_project.app.drain()
    accept(any_project, "open", caller="ken")
    return any_project


def test_entries_are_listed_newest_first(worked: Project) -> None:
    """ID-1: with the state each one has; who asked is shown without a mail address."""
    told = [(one["key"], one["state"], one["caller"]) for one in worked.ask("ledger", "list")]
    assert told[0] == ("open", "accepted", "ken")
    succeeded, failed = ("light", "succeeded", "***@example.com"), ("heavy", "failed", "ken")
    assert set(told[1:]) == {succeeded, failed}


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (["--state", "failed"], 1),
        (["--state", "ACCEPTED"], 1),
        (["--caller", "ken"], 2),
        (["--caller", "ken", "--operation", "send"], 1),
        (["--tenant", "elsewhere"], 0),
        (["--key", "light"], 1),
        (["--limit", "2"], 2),
    ],
)
def test_entries_are_chosen_by_filters(worked: Project, filters: list[str], count: int) -> None:
    """ID-1: by key, state, caller, operation and tenant."""
    assert len(worked.ask("ledger", "list", *filters)) == count


def test_a_state_that_is_none_is_refused(project: Project) -> None:
    """ID-1: the refusal names those there are."""
    result = project.run("ledger", "list", "--state", "done")
    assert result.exit_code == 1
    assert "accepted, succeeded, failed" in result.stderr


def test_an_entry_is_shown_with_its_message(worked: Project) -> None:
    """ID-1, ID-5: when it was accepted and settled, when it expires, and how its message stands."""
    told = worked.ask("ledger", "show", "light")
    assert (told["state"], len(told["digest"]), told["error_code"]) == ("succeeded", 64, None)
    assert not [name for name in told if name.startswith("_")]
    assert told["accepted_at"] <= told["settled_at"] < told["expires_at"]
    (message,) = told["message"]
    assert (message["status"], message["attempts"], told["dead_letters"]) == ("PROCESSED", 1, [])
    page = worked.run("ledger", "show", "light").stdout
    assert "event  PROCESSED" in page
    assert told["digest"] in page


def test_a_failed_entry_names_its_dead_letter(worked: Project) -> None:
    """ID-5: so that it can be redriven."""
    told = worked.ask("ledger", "show", "heavy")
    (letter,) = worked.ask("dead-letters", "list")["items"]
    assert (told["error_code"], told["dead_letters"]) == ("TOO_HEAVY", [letter["id"]])
    page = worked.run("ledger", "show", "heavy").stdout
    assert letter["id"] in page
    assert "TOO_HEAVY: 300 kg for ***@example.com" in page


def test_an_entry_that_nothing_settles_yet_does_not_expire(worked: Project) -> None:
    """ID-5: no message is there, and none is told."""
    told = worked.ask("ledger", "show", "open")
    assert (told["state"], told["expires_at"], told["message"]) == ("accepted", None, [])
    assert "not before it is settled" in worked.run("ledger", "show", "open").stdout


def test_a_stored_response_is_shown_only_to_who_asks_for_it(project: Project) -> None:
    """ID-1: it may be personal."""
    app = project.app
    with app.session() as session:
        answer = app.ledger.accept(session, "paid", {"total": 1})
        app.ledger.succeed(session, answer.entry, {"name": "Mika"}, status_code=201)
    assert "response" not in project.ask("ledger", "show", "paid")
    assert "Mika" not in project.run("ledger", "show", "paid").stdout
    assert "Mika" not in project.run("ledger", "list").stdout
    assert project.ask("ledger", "show", "paid", "--payload")["response"] == {"name": "Mika"}
    assert '"name": "Mika"' in project.run("ledger", "show", "paid", "--payload").stdout


def test_a_key_that_nobody_used_is_refused(worked: Project) -> None:
    """ID-1"""
    result = worked.run("ledger", "show", "lihgt")
    assert result.exit_code == 1
    assert "No entry has the key 'lihgt'. `todoke ledger list`" in result.stderr


def test_a_key_of_several_callers_asks_whose(project: Project) -> None:
    """ID-1: the same key of another caller is another entry."""
    accept(project, "same", caller="mika")
    accept(project, "same", caller="ken")
    result = project.run("ledger", "show", "same")
    assert result.exit_code == 1
    assert "--caller 'ken'" in result.stderr
    assert project.ask("ledger", "show", "same", "--caller", "ken")["caller"] == "ken"
