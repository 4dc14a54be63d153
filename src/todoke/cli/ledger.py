"""`todoke ledger`: which keys were asked under, and what came of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.text import Text
from sqlalchemy import Connection, select

from todoke.app import Todoke
from todoke.cli.events import delivery
from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.reach import reading
from todoke.cli.refusal import Refused
from todoke.cli.screen import (
    Cell,
    block,
    facts,
    length,
    moment,
    note,
    say,
    say_json,
    status,
    table,
)
from todoke.errors import NotFound
from todoke.ledger.entry import FIELDS, LedgerEntry
from todoke.outbox.read import EventRecord
from todoke.telemetry import masked

ledger: typer.Typer = typer.Typer(
    help="Look at idempotency keys and what came of them.", no_args_is_help=True
)

Tenant = Annotated[str | None, typer.Option(help="Only keys of this tenant.")]
Caller = Annotated[str | None, typer.Option(help="Only keys of this caller.")]
Operation = Annotated[str | None, typer.Option(help="Only keys of this operation.")]

_HEADS = ["KEY", "STATE", "OPERATION", "CALLER", "TENANT", "ACCEPTED", "MESSAGE"]


@ledger.command("list")
def list_entries(
    app: AppOption = None,
    key: Annotated[str | None, typer.Option(help="Only entries with this key.")] = None,
    tenant: Tenant = None,
    caller: Caller = None,
    operation: Operation = None,
    state: Annotated[str | None, typer.Option(help="accepted, succeeded or failed.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List entries of the ledger, newest first."""
    with application(app) as found, reading(found) as connection:
        entries = found.ledger.list(
            connection,
            key=key,
            tenant=tenant,
            caller=caller,
            operation=operation,
            state=state.lower() if state else None,
            limit=limit,
        )
        now = found.clock.now()
    if as_json:
        say_json([_summary(one) for one in entries])
    elif entries:
        rows = [_row(one, now) for one in entries]
        say(*table(_HEADS, rows, shrink=["KEY", "OPERATION", "CALLER", "TENANT"]))
    else:
        note("No entry matches.")


@ledger.command()
def show(
    key: Annotated[str, typer.Argument(help="The idempotency key.", show_default=False)],
    app: AppOption = None,
    tenant: Tenant = None,
    caller: Caller = None,
    operation: Operation = None,
    payload: Annotated[
        bool, typer.Option("--payload", help="Show the stored response; it may be personal.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one entry, the message that settles it, and how that stands."""
    with application(app) as found, reading(found) as connection:
        entries = found.ledger.list(
            connection, key=key, tenant=tenant, caller=caller, operation=operation
        )
        entry = _the_one(key, entries)
        records = _records(found, connection, entry)
        letters = _letters(found, connection, entry)
    if as_json:
        say_json(_whole(entry, records, letters, payload=payload))
    else:
        say(*_page(entry, records, letters, payload=payload))


def _the_one(key: str, entries: Sequence[LedgerEntry]) -> LedgerEntry:
    """A key belongs to a caller and an operation; mostly one of them has it."""
    if not entries:
        raise Refused(f"No entry has the key {key!r}. `todoke ledger list` shows those that are.")
    if len(entries) > 1:
        several = "; ".join(_scope(one) for one in entries)
        raise Refused(f"Several have the key {key!r}: {several}. Say which.")
    return entries[0]


def _scope(entry: LedgerEntry) -> str:
    """As options of the command."""
    said = {"tenant": entry.tenant, "caller": entry.caller, "operation": entry.operation}
    return masked(" ".join(f"--{name} {value!r}" for name, value in said.items()))


def _records(app: Todoke, connection: Connection, entry: LedgerEntry) -> Sequence[EventRecord]:
    """None where it was settled without a message, or where that is no longer kept."""
    try:
        return app.events.get(connection, entry.message_id)
    except NotFound:
        return []


def _letters(app: Todoke, connection: Connection, entry: LedgerEntry) -> list[UUID]:
    """The open dead letters of its message."""
    letters = app.letter_table
    of_message = letters.c.message_id == entry.message_id
    rows = select(letters.c.id).where(of_message, letters.c.closed_at.is_(None))
    return list(connection.execute(rows.order_by(letters.c.died_at)).scalars())


def _summary(entry: LedgerEntry) -> dict[str, Any]:
    told = {name: getattr(entry, name) for name in FIELDS if name != "response"}
    return told | {name: masked(told[name]) for name in ("key", "caller")}


def _whole(
    entry: LedgerEntry, records: Sequence[EventRecord], letters: Sequence[UUID], *, payload: bool
) -> dict[str, Any]:
    stands = [
        {
            "source": one.source,
            "handler": one.handler,
            "status": one.status,
            "attempts": one.attempts,
            "error_code": one.error_code,
        }
        for one in records
    ]
    told = _summary(entry) | {"message": stands, "dead_letters": letters}
    return told | ({"response": entry.response} if payload else {})


def _row(entry: LedgerEntry, now: datetime) -> list[Cell]:
    return [
        masked(entry.key),
        status(entry.state),
        entry.operation,
        masked(entry.caller),
        entry.tenant,
        f"{length(now - entry.accepted_at)} ago",
        str(entry.message_id),
    ]


def _page(
    entry: LedgerEntry, records: Sequence[EventRecord], letters: Sequence[UUID], *, payload: bool
) -> list[Text]:
    lines = facts(
        {
            "key": masked(entry.key),
            "state": status(entry.state),
            "tenant": entry.tenant,
            "caller": masked(entry.caller),
            "operation": entry.operation,
            "digest": entry.digest,
            "accepted": moment(entry.accepted_at),
            "settled": moment(entry.settled_at),
            "expires": moment(entry.expires_at) or "not before it is settled",
            "status code": None if entry.status_code is None else str(entry.status_code),
            "error": _error(entry),
            "response": _response(entry, payload=payload),
            "message": str(entry.message_id) if records else None,
            "dead letter": ", ".join(map(str, letters)),
        }
    )
    for record in records:
        lines += [Text(""), *delivery(record)]
    if payload and entry.response is not None:
        lines += block("response", json.dumps(entry.response, ensure_ascii=False, indent=2))
    return lines


def _error(entry: LedgerEntry) -> str | None:
    said = f": {entry.error_message}" if entry.error_message else ""
    return f"{entry.error_code}{said}" if entry.error_code else None


def _response(entry: LedgerEntry, *, payload: bool) -> str | None:
    return None if entry.response is None or payload else "kept; --payload shows it"
