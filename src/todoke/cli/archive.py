"""`todoke archive`: let old rows go now, look at the archive, bring rows back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.progress import Progress

from todoke import crash
from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.reach import acting, by_chunks
from todoke.cli.refusal import Refused
from todoke.cli.screen import Cell, console, counted, moment, note, say, say_json, table
from todoke.operate import ArchiveFile

archive: typer.Typer = typer.Typer(
    help="Archive old rows now; look at the archive; bring rows back.", no_args_is_help=True
)

_HEADS = ["FILE", "KIND", "ROWS", "FROM", "TO", "BYTES"]
_WORDS = {"event": "event", "delivery": "delivery", "dead-letter": "dead letter"}
_MANY = {"delivery": "deliveries"}
_LINE = 10_000


@archive.command()
def run(
    app: AppOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what is due.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Do now what a worker's cleaner does; interrupted and begun again, it goes on."""
    crash.arm_from_environment()
    with application(app) as found, by_chunks(found) as connection:
        kept = found.archive.is_kept
        rows = found.archive.run(connection, dry_run=True)
        if not dry_run:
            with _writing(), _progress(sum(rows.values())) as tell:
                rows = found.archive.run(connection, tell=tell)
        folder = str(found.archive.folder.path) if kept else None
    if as_json:
        say_json({"dry_run": dry_run, "archive": folder, "rows": dict(rows)})
    elif not sum(rows.values()):
        say("Nothing is due.")
    else:
        say(_sentence(rows, folder, dry_run=dry_run))


@archive.command("list")
def list_files(app: AppOption = None, as_json: JsonOption = False) -> None:
    """List the archive's files; counts their rows, so it reads all of them."""
    with application(app) as found:
        files = found.archive.list()
    if as_json:
        say_json([_data(file) for file in files])
    elif files:
        say(*table(_HEADS, [_row(file) for file in files], shrink=["FILE"]))
    else:
        note("The archive is empty.")


@archive.command()
def restore(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Paths, or names in the archive.")
    ],
    app: AppOption = None,
    message: Annotated[
        UUID | None, typer.Option(help="Only rows of this event.", show_default=False)
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="Only this kind: event, delivery or dead-letter.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Bring archived rows back; those that are there already stay as they are."""
    restored: Counter[str] = Counter()
    present: Counter[str] = Counter()
    with application(app) as found:
        for file in files:
            # Each in a transaction of its own: begun again, what came back is there already.
            with acting(found) as connection:
                told = found.archive.restore(connection, [file], message=message, kind=kind)
            restored += told.restored
            present += told.present
    if as_json:
        say_json({"restored": dict(restored), "present": dict(present)})
        return
    say(f"Restored {_told(restored)}." if restored else "Nothing was restored.")
    if present:
        say(f"Already there: {_told(present)}.")


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Refused(
            f"The archive cannot be written: {error}. What is not archived was not deleted; "
            "run it again when it can."
        ) from error
    except KeyboardInterrupt:
        note("Stopped. What is not archived was not deleted; run it again to go on.")
        raise


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """A bar for a person; for a log a line now and then."""
    screen = console(stderr=True)
    if screen.is_terminal:
        with Progress(console=screen) as bar:
            task = bar.add_task("archive", total=total)
            yield lambda _kind, rows: bar.advance(task, rows)
        return
    done = 0

    def tell(_kind: str, rows: int) -> None:
        nonlocal done
        if (done + rows) // _LINE > done // _LINE:
            note(f"{done + rows:,} of {total:,} rows")
        done += rows

    yield tell


def _sentence(rows: Mapping[str, int], folder: str | None, *, dry_run: bool) -> str:
    if folder is None:
        return f"{'Would delete' if dry_run else 'Deleted'} {_told(rows)}."
    return f"{'Would archive' if dry_run else 'Archived'} {_told(rows)} in {folder}."


def _told(rows: Mapping[str, int]) -> str:
    return ", ".join(
        counted(count, _WORDS[kind], _MANY.get(kind, "")) for kind, count in rows.items() if count
    )


def _row(file: ArchiveFile) -> list[Cell]:
    return [
        file.path.name,
        file.kind,
        f"{file.rows:,}",
        moment(file.first) or "—",
        moment(file.last) or "—",
        f"{file.bytes:,}",
    ]


def _data(file: ArchiveFile) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "kind": file.kind,
        "rows": file.rows,
        "from": file.first,
        "to": file.last,
        "bytes": file.bytes,
    }
