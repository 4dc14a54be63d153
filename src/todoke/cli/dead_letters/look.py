"""`todoke dead-letters list` and `show`: what was given up, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.text import Text

from todoke.cli.dead_letters.selecting import (
    Code,
    ErrorClass,
    Ids,
    Name,
    OlderThan,
    Source,
    selection,
)
from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.payload import Payloads
from todoke.cli.reach import acting, reading
from todoke.cli.screen import (
    Cell,
    block,
    counted,
    facts,
    fitting,
    length,
    moment,
    note,
    one_line,
    say,
    say_json,
    status,
    table,
)
from todoke.dead_letters.followers import Parked
from todoke.dead_letters.letter import DeadLetter

_HEADS = ["ID", "NAME", "CODE", "ATTEMPTS", "DIED", "SEEN"]


def list_letters(
    app: AppOption = None,
    source: Source = None,
    name: Name = None,
    code: Code = None,
    error_class: ErrorClass = None,
    older_than: OlderThan = None,
    ids: Ids = None,
    closed: Annotated[bool, typer.Option("--closed", help="Those redriven or resolved.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    after: Annotated[
        UUID | None, typer.Option(help="Go on after this one.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List open dead letters, newest first."""
    wanted = selection(source, name, code, error_class, older_than, ids)
    start = None if after is None else str(after)
    with application(app) as found, reading(found) as connection:
        page = found.dead_letters.list(connection, wanted, limit=limit, after=start, closed=closed)
        payloads, now = Payloads(found), found.clock.now()
    if as_json:
        say_json({"items": [_data(one, payloads) for one in page.items], "next": page.next})
        return
    if not page.items:
        note("No dead letter matches.")
    say(*lines(page.items, now))
    if page.next:
        note(f"There are more: --after {page.next}")


def show(
    id: Annotated[UUID, typer.Argument(help="The dead letter's id.")],
    app: AppOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one dead letter with its traceback, and its payload with personal fields hidden."""
    with application(app) as found:
        with acting(found) as connection:
            letter = found.dead_letters.get(connection, id)
            parked = found.dead_letters.parked(connection, id)
        payloads = Payloads(found)
    if as_json:
        followers = None if parked is None else asdict(parked)
        say_json(_data(letter, payloads) | {"parked_followers": followers})
    else:
        say(*_page(letter, parked, payloads))


def lines(letters: Sequence[DeadLetter], now: datetime) -> list[Text]:
    """A table in which a line of its own says how each letter died."""
    if not letters:
        return []
    head, *rows = table(_HEADS, [_row(one, now) for one in letters], shrink=["NAME", "CODE"])
    told = [head]
    for row, one in zip(rows, letters, strict=True):
        told += [row, fitting(f"{one.source}, {one.error_class}: {one.message}", indent=4)]
    return told


def _row(letter: DeadLetter, now: datetime) -> list[Cell]:
    seen = "never" if letter.seen_at is None else f"{length(now - letter.seen_at)} ago"
    return [
        str(letter.id),
        letter.name,
        letter.code,
        str(letter.attempts),
        f"{length(now - letter.died_at)} ago",
        seen if letter.closed_as is None else status(letter.closed_as),
    ]


def _data(letter: DeadLetter, payloads: Payloads) -> dict[str, Any]:
    told = asdict(letter)
    bodies = {"payload": told.pop("body"), "corrected_payload": told.pop("corrected_body")}
    shown = {
        name: None if body is None else payloads.data(letter.context, letter.type, body)
        for name, body in bodies.items()
    }
    return told | {"key": payloads.key(letter.context, letter.type, letter.key)} | shown


def _page(letter: DeadLetter, parked: Parked | None, payloads: Payloads) -> list[Text]:
    lines = facts(
        {
            "dead letter": str(letter.id),
            "source": letter.source,
            "name": letter.name,
            "error class": letter.error_class,
            "code": Text(one_line(letter.code), style="red"),
            "message": letter.message,
            "attempts": _attempts(letter),
            "job" if letter.source == "job" else "event": str(letter.message_id),
            "type": f"{letter.type}, version {letter.version}",
            "context": letter.context,
            "aggregate": letter.aggregate,
            "key": payloads.key(letter.context, letter.type, letter.key) or None,
            "followers": None if parked is None else _followers(parked),
            "created": moment(letter.created_at),
            "died": moment(letter.died_at),
            "closed": _closing(letter),
        }
    )
    if letter.traceback:
        lines += block("traceback", letter.traceback)
    lines += block("payload", payloads.text(letter.context, letter.type, letter.body))
    if letter.corrected_body is not None:
        corrected = payloads.text(letter.context, letter.type, letter.corrected_body)
        lines += block("corrected payload", corrected)
    return lines


def _attempts(letter: DeadLetter) -> str:
    crashes = f", and {counted(letter.crashes, 'crash', 'crashes')}" if letter.crashes else ""
    return f"{letter.attempts}{crashes}"


def _followers(parked: Parked) -> str:
    if parked.count == 0:
        return "none yet; later events of its key will wait behind it"
    if parked.more:
        return f"{parked.count:,} or more wait behind it"
    return f"{parked.count:,} {'waits' if parked.count == 1 else 'wait'} behind it"


def _closing(letter: DeadLetter) -> str | None:
    if letter.closed_at is None:
        return None
    return f"{moment(letter.closed_at)}, {letter.closed_as} by operation {letter.operation_id}"
