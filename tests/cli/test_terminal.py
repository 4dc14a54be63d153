"""What a person at a terminal sees, and what never reaches the terminal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.cli.parcels import ParcelSent
from tests.cli.project import Project
from tests.cli.terminal import on_a_terminal
from todoke.cli.screen import counted, length, one_line, safe

HEAVY = ParcelSent(parcel=2, mail="mika@example.com", weight=300)
HEAVIER = ParcelSent(parcel=3, mail="mika@example.com", weight=300)
ACT = ("--by", "ken", "--reason", "scales were wrong")


@pytest.fixture
def buried(project: Project) -> Project:
    project.publish(HEAVY, HEAVIER)
    project.app.drain()
    return project


def test_a_person_is_asked_before_many_are_redriven(buried: Project) -> None:
    """ER-4: no means no."""
    code, screen = on_a_terminal("dead-letters", "redrive", "--all", *ACT, answer="n\n")
    assert code == 1
    assert "Redrive 2 dead letters? [y/N]" in screen
    assert buried.has("DEAD", 2)


@pytest.mark.parametrize(("more", "answer"), [((), "y\n"), (("--yes",), "")])
def test_a_person_can_be_sure(buried: Project, more: tuple[str, ...], answer: str) -> None:
    """ER-4: by an answer, or by --yes."""
    code, screen = on_a_terminal("dead-letters", "redrive", "--all", *ACT, *more, answer=answer)
    assert code == 0
    assert "Operation 1: 2 dead letters redriven." in screen
    assert ("[y/N]" in screen) is bool(answer)


def test_refusals_are_red_on_a_terminal(project: Project) -> None:
    """ER-3: and one line."""
    code, screen = on_a_terminal("status", "--app", "nowhere:app", width=400)
    assert code == 1
    assert screen.startswith("\x1b[31mError: ")
    assert screen.count("\n") == 1


def test_lines_fit_the_terminal(buried: Project) -> None:
    """ER-3: columns give way, ids do not."""
    _, screen = on_a_terminal("events", "list", width=72)
    (one, _) = buried.events()
    assert str(one.message_id) in screen
    assert "…" in screen


def test_what_a_message_says_cannot_steer_the_terminal() -> None:
    """ER-3: control characters are shown, not obeyed."""
    assert safe("a\x1b[31mb\x9b\u202e\tc\n") == "a\\x1b[31mb\\x9b\\u202e\tc\n"
    assert one_line(" two\n  lines\r") == "two lines"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-1, "0.0s"), (3, "3.0s"), (42, "42s"), (180, "3m"), (7200, "2h"), (864000, "10d")],
)
def test_lengths_of_time_are_short(seconds: int, told: str) -> None:
    """ER-3: one unit is enough to judge an age."""
    assert length(timedelta(seconds=seconds)) == told


def test_counts_agree_with_their_word() -> None:
    """ER-4: one letter, two letters."""
    assert [counted(1, "letter"), counted(2000, "letter")] == ["1 letter", "2,000 letters"]
