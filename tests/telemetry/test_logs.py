"""What a worker says of messages that fail, and what handlers add to their own lines."""

from __future__ import annotations

import json
import logging

import pytest

from tests.application import Placed, publish
from tests.cli.parcels import ParcelSent
from tests.cli.project import Project
from tests.waiting import until
from todoke import Attempt, PermanentError, Todoke, TransientError
from todoke.testing import Clock

HEAVY = ParcelSent(parcel=2, mail="mika@example.com", weight=300)


def test_a_failed_attempt_is_told_with_its_fields(
    on_sqlite: Todoke, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """ID-9: message, handler, status, attempts and error code; nothing of what the error said."""
    errors = [TransientError("call mika", code="BUSY"), PermanentError("call mika", code="GONE")]

    @on_sqlite.on(Placed, retry="mail")
    def note(event: Placed) -> None:
        if event.order_id:
            raise errors.pop(0)

    publish(on_sqlite, Placed(order_id=1), Placed(order_id=0))
    on_sqlite.drain()
    clock.advance("1m")
    on_sqlite.drain()
    told = [
        (one.levelno, one.__dict__["status"], one.__dict__["attempts"], one.__dict__["error_code"])
        for one in caplog.records
    ]
    assert told == [(logging.WARNING, "PENDING", 1, "BUSY"), (logging.ERROR, "DEAD", 2, "GONE")]
    assert [one.__dict__["handler"] for one in caplog.records] == ["note", "note"]
    assert len({one.__dict__["message_id"] for one in caplog.records}) == 1
    assert "mika" not in caplog.text


def test_a_handlers_own_fields_stand_beside_those_of_its_attempt(
    on_sqlite: Todoke, caplog: pytest.LogCaptureFixture
) -> None:
    """ID-9: neither hides the other."""
    caplog.set_level(logging.INFO)

    @on_sqlite.on(Placed)
    def send(event: Placed, attempt: Attempt) -> None:
        attempt.log.info("sent", extra={"adapter": "paper", "handler": "mine"})

    publish(on_sqlite, Placed(order_id=1))
    on_sqlite.drain()
    (record,) = caplog.records
    fields = vars(record)
    assert (fields["adapter"], fields["handler"], fields["attempt"]) == ("paper", "send", 1)


SOURCE = """
from tests.cli.parcels import ParcelSent, build
from todoke import Attempt

app = build()

@app.on(ParcelSent)
def send(event: ParcelSent, attempt: Attempt) -> None:
    attempt.log.info("sent", extra={"adapter": "paper", "to": event.mail, "level": 3})
"""


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_worker_shows_all_fields_of_a_line(project: Project, format: str) -> None:
    """ID-9: as text and as JSON, without mail addresses; what is processed makes no line."""
    project.write(SOURCE)
    project.publish(HEAVY)
    with project.worker("--log-format", format) as worker:
        until(lambda: "adapter" in worker.err and "TOO_HEAVY" in worker.err, 30)
        until(lambda: not project.events(status="PENDING"), 30)
        worker.terminate()
        assert worker.end() == 0
    (event,) = {one.message_id for one in project.events()}
    (sent,) = [line for line in worker.err.splitlines() if "adapter" in line]
    (died,) = [line for line in worker.err.splitlines() if "TOO_HEAVY" in line]
    assert "mika" not in worker.err
    assert "PROCESSED" not in worker.err
    if format == "text":
        fields = f"message_id={event} handler=tell status=DEAD attempts=1 error_code=TOO_HEAVY"
        assert died.endswith(f"tell failed with TOO_HEAVY: given up {fields}")
        assert sent.endswith("handler=send attempt=1 adapter=paper to=***@example.com level=3")
    else:
        assert json.loads(died)["error_code"] == "TOO_HEAVY"
        told = json.loads(sent)
        assert (told["adapter"], told["level"], told["attempt"]) == ("paper", "INFO", 1)
