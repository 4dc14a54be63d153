"""`todoke events`: what was published, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.text import Text

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.payload import Payloads
from todoke.cli.reach import reading
from todoke.cli.screen import (
    Cell,
    block,
    facts,
    length,
    moment,
    note,
    one_line,
    say,
    say_json,
    status,
    table,
)
from todoke.outbox.read import EventRecord

events: typer.Typer = typer.Typer(help="Look at events and their deliveries.", no_args_is_help=True)

_HEADS = ["ID", "STATUS", "TYPE", "KEY", "HANDLER", "AGE"]


@events.command("list")
def list_events(
    app: AppOption = None,
    status: Annotated[
        str | None, typer.Option(help="PENDING, PROCESSING, PROCESSED or DEAD.")
    ] = None,
    type: Annotated[str | None, typer.Option(help="Only events of this type.")] = None,
    key: Annotated[str | None, typer.Option(help="Only events with this key.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List events and their deliveries, newest first."""
    wanted = status.upper() if status else None
    with application(app) as found, reading(found) as connection:
        listed = found.events.list(connection, status=wanted, type=type, key=key, limit=limit)
        records, now = sorted(listed, key=_together, reverse=True), found.clock.now()
        payloads = Payloads(found)
    if as_json:
        say_json([_summary(one, payloads) for one in records])
    elif records:
        rows = [_row(one, payloads, now) for one in records]
        say(*table(_HEADS, rows, shrink=["TYPE", "KEY", "HANDLER"]))
    else:
        note("No event matches.")


@events.command()
def show(
    id: Annotated[UUID, typer.Argument(help="The event's id.")],
    app: AppOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one event, its deliveries, and its payload with personal fields hidden."""
    with application(app) as found:
        with reading(found) as connection:
            records = found.events.get(connection, id)
        payloads = Payloads(found)
    if as_json:
        say_json([_whole(one, payloads) for one in records])
    else:
        say(*_page(records, payloads))


def _together(record: EventRecord) -> tuple[datetime, UUID, bool]:
    """By time; where that is the same, an event stands before its own deliveries."""
    return record.created_at, record.message_id, record.source == "event"


def _summary(record: EventRecord, payloads: Payloads) -> dict[str, Any]:
    told = asdict(record) | {"key": _key(record, payloads)}
    del told["body"]
    return told


def _whole(record: EventRecord, payloads: Payloads) -> dict[str, Any]:
    payload = payloads.data(record.context, record.type, record.body)
    return _summary(record, payloads) | {"payload": payload}


def _key(record: EventRecord, payloads: Payloads) -> str:
    return payloads.key(record.context, record.type, record.key)


def _row(record: EventRecord, payloads: Payloads, now: datetime) -> list[Cell]:
    return [
        str(record.message_id),
        status(record.status),
        record.type,
        _key(record, payloads),
        record.handler or "",
        length(now - record.created_at),
    ]


def _page(records: Sequence[EventRecord], payloads: Payloads) -> list[Text]:
    first = records[0]
    lines = facts(
        {
            "event": str(first.message_id),
            "type": f"{first.type}, version {first.version}",
            "context": first.context,
            "aggregate": first.aggregate,
            "key": _key(first, payloads),
            "created": moment(first.created_at),
        }
    )
    for record in records:
        lines += [Text(""), *delivery(record)]
    return lines + _payloads(records, payloads)


def delivery(record: EventRecord) -> list[Text]:
    """How the event, or one delivery of it, stands."""
    what = f"{record.source} to {record.handler}" if record.handler else record.source
    error = f"{record.error_code}: {record.error_message}" if record.error_code else None
    head = Text.assemble((one_line(what), "bold"), "  ", status(record.status))
    told = facts(
        {
            "attempts": _attempts(record),
            "due": moment(record.scheduled_at) if record.status == "PENDING" else None,
            "settled": moment(record.settled_at) if record.status == "PROCESSED" else None,
            "died": moment(record.settled_at) if record.status == "DEAD" else None,
            "note": record.note,
            "error": error,
        }
    )
    return [head, *(Text("  ") + line for line in told)]


def _attempts(record: EventRecord) -> str:
    return (
        f"{record.attempts} of {record.max_attempts}"
        if record.max_attempts
        else str(record.attempts)
    )


def _payloads(records: Sequence[EventRecord], payloads: Payloads) -> list[Text]:
    """One, unless a correction changed that of a delivery."""
    lines: list[Text] = []
    for body in dict.fromkeys(record.body for record in records):
        first = next(record for record in records if record.body == body)
        head = "payload" if first is records[0] else f"payload of the delivery to {first.handler}"
        lines += block(head, payloads.text(first.context, first.type, body))
    return lines
