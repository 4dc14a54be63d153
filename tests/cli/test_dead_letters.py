"""`todoke dead-letters list` and `show`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from tests.cli.parcels import ParcelLost, ParcelSent
from tests.cli.project import Project

HEAVY = ParcelSent(parcel=2, mail="mika@example.com", weight=300)
HEAVIER = ParcelSent(parcel=3, mail="mika@example.com", weight=300)


@pytest.fixture
def buried(any_project: Project) -> Project:
    """Two parcels that are too heavy, and one that nobody handles."""
    any_project.publish(HEAVY, HEAVIER, ParcelLost())
    any_project.app.drain()
    return any_project


def test_the_list_tells_how_each_one_died(buried: Project) -> None:
    """ER-3: source, class, code, message, traceback, attempts, age and payload of all."""
    told = buried.ask("dead-letters", "list", "--code", "TOO_HEAVY")["items"]
    assert len(told) == 2
    for one in told:
        assert one["source"] == "event"
        assert one["error_class"] == "permanent"
        assert one["message"] == "300 kg for ***@example.com"
        assert "PermanentError" in one["traceback"]
        assert one["attempts"] == 1
        assert one["died_at"] > one["created_at"]
        assert one["payload"]["weight"] == 300
        assert one["payload"]["mail"] == "***"


def test_the_list_is_readable(buried: Project) -> None:
    """ER-3: two lines for each, and whether somebody has looked at it."""
    lines = buried.run("dead-letters", "list").stdout.splitlines()
    assert len(lines) == 1 + 2 * 3
    assert lines[1].endswith("never")
    assert "    event, permanent: 300 kg for ***@example.com" in lines


def test_the_list_tells_how_long_since_a_person_looked(buried: Project) -> None:
    """ER-5: of each letter, and listing them is not looking at one"""
    first, second, third = (one["id"] for one in buried.ask("dead-letters", "list")["items"])
    buried.run("dead-letters", "show", second)
    seen = datetime.now(UTC) - timedelta(hours=5)
    letters = buried.app.letter_table
    with buried.app.engine.begin() as connection:
        connection.execute(update(letters).where(letters.c.id == UUID(third)).values(seen_at=seen))
    lines = buried.run("dead-letters", "list").stdout.splitlines()
    told = {line.split()[0]: line.split("ago", 1)[1].strip() for line in lines[1::2]}
    assert (told[first], told[third]) == ("never", "5h ago")
    assert re.fullmatch(r"\d+\.\ds ago", told[second])


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ([], 3),
        (["--source", "event"], 3),
        (["--source", "delivery"], 0),
        (["--name", "parcel-lost"], 1),
        (["--code", "TOO_HEAVY"], 2),
        (["--error-class", "permanent"], 3),
        (["--error-class", "business"], 0),
        (["--older-than", "1h"], 0),
        (["--closed"], 0),
    ],
)
def test_letters_are_chosen_by_filters(buried: Project, filters: list[str], count: int) -> None:
    """ER-4: the same filters for looking and acting."""
    assert len(buried.ask("dead-letters", "list", *filters)["items"]) == count


@pytest.mark.parametrize(
    "filters",
    [["--source", "mail"], ["--error-class", "bad"], ["--older-than", "3"]],
)
def test_a_filter_that_cannot_be_meant_is_refused(project: Project, filters: list[str]) -> None:
    """ER-4: one line, exit code 1."""
    result = project.run("dead-letters", "list", *filters)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")


def test_pages_follow_each_other(buried: Project) -> None:
    """ER-3: each page says how to get the next, until there is none."""
    seen: list[str] = []
    after: list[str] = []
    for _ in range(3):
        page = buried.ask("dead-letters", "list", "--limit", "1", *after)
        seen += [one["id"] for one in page["items"]]
        after = ["--after", page["next"]]
    assert page["next"] is None
    assert len(set(seen)) == 3


def test_a_page_after_what_is_not_there(project: Project) -> None:
    """ER-3: told as such."""
    result = project.run("dead-letters", "list", "--after", uuid4())
    assert result.exit_code == 1
    assert "No dead letter" in result.stderr


def test_one_is_shown_whole(buried: Project) -> None:
    """ER-3: with traceback and masked payload; from then on it counts as seen."""
    first = buried.ask("dead-letters", "list", "--code", "TOO_HEAVY")["items"][0]
    said = buried.run("dead-letters", "show", first["id"]).stdout
    assert "raise PermanentError" in said
    assert '"mail": "***"' in said
    assert "mika" not in said
    (again,) = buried.ask("dead-letters", "list", "--id", first["id"])["items"]
    assert again["seen_at"] is not None


def test_it_is_told_who_waits_behind_one(any_project: Project) -> None:
    """OB-9, ER-3: followers that were parked, for people and for programs."""
    any_project.publish(HEAVY, HEAVIER, HEAVY, HEAVY, ParcelLost())
    any_project.app.drain()
    found = any_project.ask("dead-letters", "list")["items"]
    shown = [any_project.ask("dead-letters", "show", one["id"]) for one in found]
    told = {one["key"]: one["parked_followers"] for one in shown if one["type"] == "parcel-sent"}
    assert told == {"2": {"count": 2, "more": False}, "3": {"count": 0, "more": False}}
    (unordered,) = [one for one in shown if one["type"] == "parcel-lost"]
    assert unordered["parked_followers"] is None
    said = {one["key"]: any_project.run("dead-letters", "show", one["id"]).stdout for one in shown}
    assert "followers    2 wait behind it\n" in said["2"]
    assert "followers    none yet; later events of its key will wait behind it\n" in said["3"]
    assert "followers" not in said[unordered["key"]]


def test_very_many_followers_are_not_counted_to_the_end(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ER-3: looking at one letter costs little, however many wait."""
    project.publish(HEAVY, HEAVY, HEAVY, HEAVY)
    project.app.drain()
    monkeypatch.setattr("todoke.dead_letters.followers.MOST_COUNTED", 2)
    (one,) = project.ask("dead-letters", "list")["items"]
    shown = project.ask("dead-letters", "show", one["id"])
    assert shown["parked_followers"] == {"count": 2, "more": True}
    assert "2 or more wait behind it" in project.run("dead-letters", "show", one["id"]).stdout


def test_nobody_waits_behind_a_closed_one(project: Project) -> None:
    """ER-4: once it is resolved, its followers go on."""
    project.publish(HEAVY, HEAVY)
    project.app.drain()
    (one,) = project.ask("dead-letters", "list")["items"]
    project.run("dead-letters", "resolve", "--all", "--by", "mika", "--reason", "lost")
    assert project.ask("dead-letters", "show", one["id"])["parked_followers"] is None


def test_one_that_is_not_there(project: Project) -> None:
    """ER-3: told as such, with the remedy."""
    result = project.run("dead-letters", "show", uuid4())
    assert result.exit_code == 1
    assert "`todoke dead-letters list`" in result.stderr


def test_closed_ones_are_listed_by_the_same_filters(buried: Project) -> None:
    """ER-4: what was resolved can still be found."""
    act = ("--by", "mika", "--reason", "lost")
    buried.run("dead-letters", "resolve", "--name", "parcel-lost", *act)
    (closed,) = buried.ask("dead-letters", "list", "--closed", "--name", "parcel-lost")["items"]
    assert closed["closed_as"] == "resolved"
    assert not buried.ask("dead-letters", "list", "--closed", "--name", "parcel-sent")["items"]
