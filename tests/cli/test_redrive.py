"""`todoke dead-letters redrive` and `resolve`."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import text
from typer.testing import Result

from tests.cli.parcels import ParcelLost, ParcelSent
from tests.cli.project import Project


def heavy(parcel: int) -> ParcelSent:
    return ParcelSent(parcel=parcel, mail="mika@example.com", weight=300)


HEAVY = heavy(2)
LIGHT = {"parcel": 2, "mail": "mika@example.com", "weight": 3}
ACT = ("--by", "ken", "--reason", "scales were wrong")


@pytest.fixture
def buried(any_project: Project) -> Project:
    """One parcel that is too heavy."""
    any_project.publish(HEAVY)
    any_project.app.drain()
    return any_project


def redrive(project: Project, *arguments: object) -> Result:
    return project.run("dead-letters", "redrive", *ACT, *arguments)


def open_letters(project: Project) -> list[dict[str, object]]:
    found: list[dict[str, object]] = project.ask("dead-letters", "list")["items"]
    return found


def test_a_letter_is_redriven_as_it_was(buried: Project) -> None:
    """ER-4: it is pending again, and no open letter is left."""
    result = redrive(buried, "--code", "TOO_HEAVY")
    assert result.exit_code == 0
    assert result.stdout == "Operation 1: 1 dead letter redriven.\n"
    assert buried.has("PENDING")
    assert not open_letters(buried)


def test_the_operation_has_an_author_and_a_reason(buried: Project) -> None:
    """ER-4: every act is kept with who, why and which."""
    redrive(buried, "--all")
    told = recorded(buried)
    assert told == [("redrive", 1, "ken", "scales were wrong")]


def test_a_dry_run_only_tells(buried: Project) -> None:
    """ER-4: how many and which, and nothing is done or recorded."""
    result = redrive(buried, "--all", "--dry-run")
    assert result.stdout.startswith("Would redrive 1 dead letter.\n")
    assert "TOO_HEAVY" in result.stdout
    assert len(open_letters(buried)) == 1
    assert not recorded(buried)


def test_a_long_dry_run_lists_the_first_few(project: Project) -> None:
    """ER-4: the rest is counted."""
    project.publish(*map(heavy, range(7)))
    project.app.drain()
    result = redrive(project, "--all", "--dry-run")
    assert result.stdout.count("300 kg") == 5
    assert "… and 2 more." in result.stderr


def test_a_letter_is_redriven_with_a_corrected_payload(buried: Project) -> None:
    """ER-4: the corrected one goes through, the old one is kept beside it."""
    Path("light.json").write_text(json.dumps(LIGHT))
    assert redrive(buried, "--all", "--payload", "light.json").exit_code == 0
    buried.app.drain()
    assert buried.has("PROCESSED")
    (closed,) = buried.ask("dead-letters", "list", "--closed")["items"]
    assert closed["payload"]["weight"] == 300
    assert closed["corrected_payload"]["weight"] == 3
    said = buried.run("dead-letters", "show", closed["id"]).stdout
    assert '"weight": 300' in said
    assert '"weight": 3\n' in said
    assert "mika" not in said


def test_a_corrected_payload_may_come_from_a_pipe(buried: Project) -> None:
    """ER-4: `-` reads stdin."""
    arguments = ("dead-letters", "redrive", *ACT, "--all", "--payload", "-")
    assert buried.run(*arguments, input=json.dumps(LIGHT)).exit_code == 0
    buried.app.drain()
    assert buried.has("PROCESSED")


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ('{"parcel": 2, "mail": "x@example.com", "weight": "much"}', "weight: Input should be"),
        ('{"parcel": 2}', "weight: Field required"),
        ('{"parcel": 2, "parcel": 3}', "key 'parcel' stands twice"),
        ('{"parcel": NaN}', "NaN is no JSON number"),
        ("[1, 2]", "expected an object"),
        ("nonsense", "no strict JSON"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused(buried: Project, payload: str, why: str) -> None:
    """ER-4: one line that says why and repeats no personal data; the letter stays open."""
    Path("wrong.json").write_text(payload)
    result = redrive(buried, "--all", "--payload", "wrong.json")
    assert result.exit_code == 1
    assert why in result.stderr
    assert "x@example.com" not in result.stderr
    assert result.stderr.count("\n") == 1
    assert len(open_letters(buried)) == 1


def test_a_payload_corrects_exactly_one(project: Project) -> None:
    """ER-4: with two that match, nothing is done."""
    project.publish(HEAVY, heavy(3))
    project.app.drain()
    Path("light.json").write_text(json.dumps(LIGHT))
    result = redrive(project, "--all", "--payload", "light.json")
    assert result.exit_code == 1
    assert "one at a time" in result.stderr
    assert len(open_letters(project)) == 2


def test_a_payload_that_is_not_there(buried: Project) -> None:
    """ER-4: the file is named."""
    result = redrive(buried, "--all", "--payload", "nowhere.json")
    assert result.exit_code == 1
    assert "nowhere.json" in result.stderr


@pytest.mark.parametrize("act", ["redrive", "resolve"])
def test_a_choice_is_needed(project: Project, act: str) -> None:
    """ER-4: filters or --all, not neither and not both."""
    project.publish(HEAVY)
    project.app.drain()
    assert project.run("dead-letters", act, *ACT).exit_code == 2
    assert project.run("dead-letters", act, *ACT, "--all", "--code", "X").exit_code == 2
    assert len(open_letters(project)) == 1


@pytest.mark.parametrize("act", ["redrive", "resolve"])
def test_an_author_and_a_reason_are_needed(project: Project, act: str) -> None:
    """ER-4: without them it is a usage error."""
    assert project.run("dead-letters", act, "--all", "--reason", "why").exit_code == 2
    assert project.run("dead-letters", act, "--all", "--by", "ken").exit_code == 2
    assert project.run("dead-letters", act, "--all", "--by", " ", "--reason", "x").exit_code == 1


def test_the_author_may_stand_in_the_environment(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ER-4: TODOKE_BY says who it is."""
    project.publish(HEAVY)
    project.app.drain()
    monkeypatch.setenv("TODOKE_BY", "ken")
    project.run("dead-letters", "resolve", "--all", "--reason", "too heavy")
    assert recorded(project) == [("resolve", 1, "ken", "too heavy")]


def test_many_are_spread_by_a_rate(buried: Project) -> None:
    """ER-4: the first is due at once, the next ones later."""
    buried.publish(heavy(3), heavy(4))
    buried.app.drain()
    assert redrive(buried, "--all", "--rate", "1/h").exit_code == 0
    due = sorted(one.scheduled_at for one in buried.events() if one.scheduled_at)
    assert [round((one - due[0]).total_seconds() / 3600) for one in due] == [0, 1, 2]


def test_a_rate_that_cannot_be_meant_is_refused(buried: Project) -> None:
    """ER-4: with the way to write it."""
    result = redrive(buried, "--all", "--rate", "fast")
    assert result.exit_code == 1
    assert "10/s" in result.stderr


def test_an_id_that_is_not_open_is_refused(project: Project) -> None:
    """ER-4: nothing is done, nothing is recorded."""
    assert redrive(project, "--id", uuid4()).exit_code == 1
    assert not recorded(project)


def test_programs_get_the_operation(buried: Project) -> None:
    """ER-4: its number and its counts."""
    told = buried.ask("dead-letters", "redrive", *ACT, "--all")
    assert told == {"operation": 1, "kind": "redrive", "selected": 1, "done": 1, "followed": 0}


def test_letters_are_resolved_by_id(any_project: Project) -> None:
    """ER-4: those named are closed for good, the others stay."""
    any_project.publish(HEAVY, ParcelLost(), heavy(3))
    any_project.app.drain()
    first, second, third = [one["id"] for one in open_letters(any_project)]
    result = any_project.run("dead-letters", "resolve", *ACT, "--id", first, "--id", third)
    assert result.stdout == "Operation 1: 2 dead letters resolved.\n"
    assert [one["id"] for one in open_letters(any_project)] == [second]
    assert not any_project.has("PENDING")


def test_it_is_said_that_followers_go_on(any_project: Project) -> None:
    """OB-9, ER-4: behind how many of them somebody waits, and when that ends."""
    any_project.publish(HEAVY, HEAVY, heavy(3), heavy(4), heavy(4))
    any_project.app.drain()
    dry = redrive(any_project, "--all", "--dry-run").stdout.splitlines()
    assert dry[:2] == [
        "Would redrive 3 dead letters.",
        "Followers of 2 keys would go on, in order, each after its redriven event.",
    ]
    (second,) = [one["id"] for one in open_letters(any_project) if one["key"] == "2"]
    result = redrive(any_project, "--id", second)
    assert result.stdout.splitlines()[1:] == [
        "Followers of 1 key go on, in order, each after its redriven event."
    ]
    told = any_project.ask("dead-letters", "resolve", *ACT, "--all", "--dry-run")
    assert (told["selected"], told["followed"]) == (2, 1)
    result = any_project.run("dead-letters", "resolve", *ACT, "--all")
    assert result.stdout.splitlines() == [
        "Operation 2: 2 dead letters resolved.",
        "Followers of 1 key go on, in order.",
    ]
    any_project.app.drain()  # all are too heavy still: the redriven one parks its follower again
    assert any_project.ask("status")["behind_a_key"] == 1
    assert sorted(str(one["key"]) for one in open_letters(any_project)) == ["2", "4"]


def recorded(project: Project) -> list[tuple[object, ...]]:
    """The operations that were kept."""
    schema = f"{project.app.database.schema}." if project.app.database.schema else ""
    table = f"{schema}{project.app.database.prefix}operations"
    with project.app.engine.connect() as connection:
        rows = connection.execute(text(f"SELECT kind, selected, author, reason FROM {table}"))
        return [tuple(row) for row in rows]
