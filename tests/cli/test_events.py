"""`todoke events`."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.cli.parcels import ParcelLost, ParcelSent, ReceiverMoved
from tests.cli.project import Project

LIGHT = ParcelSent(parcel=1, mail="mika@example.com", weight=3, remark="for ken@example.org")
HEAVY = ParcelSent(parcel=2, mail="mika@example.com", weight=300)


@pytest.fixture
def worked(any_project: Project) -> Project:
    """One event processed, one dead, one pending."""
    any_project.publish(LIGHT, HEAVY)
    any_project.app.drain()
    any_project.publish(ParcelLost(finder="ken@example.org"))
    return any_project


def test_events_are_listed_newest_first(worked: Project) -> None:
    """OB-3: with the status each one has."""
    told = [(one["type"], one["status"]) for one in worked.ask("events", "list")]
    assert told[0] == ("parcel-lost", "PENDING")
    assert set(told[1:]) == {("parcel-sent", "PROCESSED"), ("parcel-sent", "DEAD")}


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (["--status", "dead"], 1),
        (["--status", "PROCESSING"], 0),
        (["--type", "parcel-sent"], 2),
        (["--key", "1"], 1),
        (["--limit", "1"], 1),
    ],
)
def test_events_are_chosen_by_filters(worked: Project, filters: list[str], count: int) -> None:
    """OB-3: by status, type and key."""
    assert len(worked.ask("events", "list", *filters)) == count


def test_a_status_that_is_none_is_refused(project: Project) -> None:
    """OB-3: the refusal names those there are."""
    result = project.run("events", "list", "--status", "SENT")
    assert result.exit_code == 1
    assert "PENDING, PROCESSING, PROCESSED, DEAD" in result.stderr


def test_lines_are_not_cut_where_nobody_looks(worked: Project) -> None:
    """OB-3: a pipe gets every id and type whole."""
    lines = worked.run("events", "list").stdout.splitlines()
    assert len(lines) == 4
    assert all("…" not in line for line in lines)


def test_an_event_is_shown_with_its_error_and_payload(worked: Project) -> None:
    """OB-3, ER-3: what became of it, and why."""
    (dead,) = worked.events(status="DEAD")
    said = worked.run("events", "show", dead.message_id).stdout
    assert "DEAD" in said
    assert "TOO_HEAVY: 300 kg" in said
    assert '"weight": 300' in said


def test_personal_fields_are_hidden(worked: Project) -> None:
    """ER-3: marked fields are masked, and so are addresses in those that are not."""
    (done,) = worked.events(status="PROCESSED")
    (told,) = worked.ask("events", "show", done.message_id)
    assert told["payload"] == {
        "parcel": 1,
        "mail": "***",
        "weight": 3,
        "remark": "for ***@example.org",
    }


def test_a_personal_key_is_hidden(project: Project) -> None:
    """ER-3: in lists, too, which show no payload."""
    project.publish(ReceiverMoved(phone="090-1234-5678"))
    (told,) = project.ask("events", "list")
    assert told["key"] == "***"
    assert "090" not in project.run("events", "list").stdout
    assert "090" not in project.run("events", "show", told["message_id"]).stdout


def test_addresses_are_hidden_where_the_event_is_unknown(worked: Project) -> None:
    """ER-3: without a class to say which fields are personal."""
    (unknown,) = worked.events(type="parcel-lost")
    (told,) = worked.ask("events", "show", unknown.message_id)
    assert told["payload"] == {"finder": "***@example.org"}
    assert "ken" not in worked.run("events", "show", unknown.message_id).stdout


def test_an_event_that_is_not_there(project: Project) -> None:
    """OB-3: the refusal names its id and the remedy."""
    id = uuid4()
    result = project.run("events", "show", id)
    assert result.exit_code == 1
    assert f"No event {id}. `todoke events list`" in result.stderr
