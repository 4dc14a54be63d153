"""`todoke dead-letters redrive` and `resolve`: acts with an author and a reason."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Connection

from todoke import codec
from todoke.app import Todoke
from todoke.cli.dead_letters.look import lines
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
from todoke.cli.options import By, DryRun, Reason, Yes
from todoke.cli.reach import acting, reading
from todoke.cli.refusal import Refused
from todoke.cli.screen import console, counted, note, say, say_json
from todoke.dead_letters.letter import Operation, Selection

All = Annotated[bool, typer.Option("--all", help="All open ones; needed without a filter.")]

Act = Callable[[Todoke, Connection], Operation]

_DONE = {"redrive": "redriven", "resolve": "resolved"}
_SHOWN = 5


def redrive(
    by: By,
    reason: Reason,
    app: AppOption = None,
    source: Source = None,
    name: Name = None,
    code: Code = None,
    error_class: ErrorClass = None,
    older_than: OlderThan = None,
    ids: Ids = None,
    everything: All = False,
    payload: Annotated[
        str | None, typer.Option(metavar="FILE", help="A corrected payload; - reads stdin.")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Spread them, such as 10/s or 100/m.")] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Send dead letters through again, as they were or with a corrected payload."""
    wanted = selection(source, name, code, error_class, older_than, ids)
    _require_choice(wanted, everything)
    corrected = None if payload is None else _read(payload)

    def act(found: Todoke, connection: Connection) -> Operation:
        return found.dead_letters.redrive(
            connection,
            wanted,
            by=by,
            reason=reason,
            payload=corrected,
            rate=rate,
            dry_run=dry_run,
        )

    sure = yes or dry_run or corrected is not None
    _operate("redrive", app, wanted, act, sure=sure, as_json=as_json)


def resolve(
    by: By,
    reason: Reason,
    app: AppOption = None,
    source: Source = None,
    name: Name = None,
    code: Code = None,
    error_class: ErrorClass = None,
    older_than: OlderThan = None,
    ids: Ids = None,
    everything: All = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Close dead letters for good: nothing more will be done with them."""
    wanted = selection(source, name, code, error_class, older_than, ids)
    _require_choice(wanted, everything)

    def act(found: Todoke, connection: Connection) -> Operation:
        return found.dead_letters.resolve(connection, wanted, by=by, reason=reason, dry_run=dry_run)

    _operate("resolve", app, wanted, act, sure=yes or dry_run, as_json=as_json)


def _require_choice(wanted: Selection, everything: bool) -> None:
    if wanted.told() and everything:
        raise typer.BadParameter("--all means all open ones: leave out the filters.")
    if not wanted.told() and not everything:
        raise typer.BadParameter("Say which ones, by --id, --name, --code …, or say --all.")


def _read(file: str) -> dict[str, Any]:
    """A corrected payload, read as strictly as any other."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        return codec.load_object(text)
    except OSError as error:
        raise Refused(f"--payload {file}: {error.strerror}.") from error
    except ValueError as error:
        raise Refused(f"--payload {file}: no strict JSON: {error}.") from error


def _operate(
    kind: str, wish: str | None, wanted: Selection, act: Act, *, sure: bool, as_json: bool
) -> None:
    with application(wish) as app:
        with reading(app) as connection:
            count = app.dead_letters.count(connection, wanted)
            first = app.dead_letters.list(connection, wanted, limit=_SHOWN).items
        if count == 0 and wanted.ids:
            raise Refused("None of these is an open dead letter, so nothing was done.")
        if count > 1 and not sure and sys.stdin.isatty():
            typer.confirm(f"{kind.capitalize()} {_letters(count)}?", abort=True, err=True)
        operation = _perform(app, act, f"{kind}: {_letters(count)} …")
        if as_json:
            say_json(_data(operation))
        elif operation.id:
            say(f"Operation {operation.id}: {_letters(operation.done)} {_DONE[kind]}.")
            say(*_go_on(operation))
        else:
            say(f"Would {kind} {_letters(operation.selected)}.", *_go_on(operation))
            say(*lines(first, app.clock.now()))
            if operation.selected > len(first):
                note(f"… and {operation.selected - len(first):,} more.")


def _perform(app: Todoke, act: Act, progress: str) -> Operation:
    screen = console(stderr=True)
    waiting = screen.status(progress) if screen.is_terminal else nullcontext()
    with waiting, acting(app) as connection:
        return act(app, connection)


def _data(operation: Operation) -> dict[str, Any]:
    return {
        "operation": operation.id or None,
        "kind": operation.kind,
        "selected": operation.selected,
        "done": operation.done,
        "followed": operation.followed,
    }


def _go_on(operation: Operation) -> list[str]:
    """What becomes of those that wait behind the letters."""
    if not operation.followed:
        return []
    go = "go on" if operation.id else "would go on"
    after = ", each after its redriven event" if operation.kind == "redrive" else ""
    return [f"Followers of {counted(operation.followed, 'key')} {go}, in order{after}."]


def _letters(count: int) -> str:
    return counted(count, "dead letter")
