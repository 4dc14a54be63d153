"""What people do with the archive: fill it now, look at it, bring rows back from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection, Table

from todoke.both import both
from todoke.database import Database
from todoke.dead_letters.followers import Followers
from todoke.errors import InvalidOption, UnreadableArchive
from todoke.retention.clean import CHUNK, Cleaner, Cleaning
from todoke.retention.due import Closed, Due, Expired, Open, Over, Settled
from todoke.retention.file import ArchiveFile, Writer, describe, files_in
from todoke.retention.line import Kind
from todoke.retention.period import Folder, Retention
from todoke.retention.restore import LETTER, Restored, Restoring
from todoke.telemetry import Counts
from todoke.work.table import WorkTable

ENTRY = "ledger"
Tell = Callable[[str, int], None]
"""Hears of each chunk: its kind, and how many rows."""


class Archive:
    """Old rows, in the database and in files; sync and async handles alike."""

    def __init__(
        self,
        tables: Sequence[WorkTable],
        letters: Table,
        ledger: Table,
        followers: Followers,
        database: Database,
        retention: Callable[[], Retention],
        draw: Callable[[], object],
    ) -> None:
        self.kinds: dict[str, Kind] = {
            **{table.source: Kind(table.source, table.history, "settled_at") for table in tables},
            LETTER: Kind(LETTER, letters, "died_at"),
        }
        self._ledger = Over(Kind(ENTRY, ledger, "settled_at"), letters, database)
        self._followers, self._database = followers, database
        self._retention, self._draw = retention, draw
        self._restoring = Restoring(self.kinds, tables, database, retention)

    @both
    def run(
        self,
        connection: Connection,
        *,
        dry_run: bool = False,
        tell: Tell = lambda _kind, _rows: None,
    ) -> Mapping[str, int]:
        """Do now what the cleaner would do, chunk by chunk; answers how many rows of each kind.

        Each chunk is a transaction: begun again after an interruption, it goes on.
        """
        if connection.in_transaction():
            raise InvalidOption(
                "archive.run",
                "a handle in a transaction",
                "each chunk is committed by itself. Give it `app.engine.connect()`.",
            )
        cleaning = self.cleaning()
        return cleaning.count(connection) if dry_run else cleaning.clean_all(connection, tell)

    def list(self) -> Sequence[ArchiveFile]:
        """The files of the archive; reads all of them."""
        return [describe(path, self.kinds) for path in files_in(self.folder.path)]

    @both
    def restore(
        self,
        connection: Connection,
        files: Sequence[Path | str],
        *,
        message: UUID | None = None,
        kind: str | None = None,
    ) -> Restored:
        """Bring rows back, with the same ids; an open dead letter can be redriven again."""
        if kind is not None and kind not in self.kinds:
            raise InvalidOption("kind", kind, f"one of {', '.join(self.kinds)}.")
        paths = [self._find(Path(file)) for file in files]
        return self._restoring.restore(connection, paths, message, kind)

    @property
    def folder(self) -> Folder:
        """Where the files are; refused where there is no archive."""
        folder = self._retention().archive
        if folder is None:
            raise InvalidOption("archive.to", None, "there is no archive. Name a folder.")
        return folder

    @property
    def is_kept(self) -> bool:
        """There is an archive: old rows are not merely deleted."""
        return self._retention().archive is not None

    def cleaner(self, counts: Counts) -> Cleaner:
        """The agent of one worker process."""
        return Cleaner(self.cleaning(), counts)

    def cleaning(self, *, chunk: int = CHUNK) -> Cleaning:
        """What finds and removes rows, with files of its own."""
        retention = self._retention()
        folder = retention.archive
        writer = None if folder is None else Writer(folder, self._draw)
        return Cleaning(self._dues(retention), self._database, writer, chunk=chunk)

    def _find(self, file: Path) -> Path:
        """As it is named, or in the archive's folder."""
        folder = self._retention().archive
        places = [file] if folder is None else [file, folder.path / file]
        found = next((path for path in places if path.is_file()), None)
        if found is None:
            raise UnreadableArchive(file, "there is no such file.")
        return found

    def _dues(self, retention: Retention) -> Sequence[Due]:
        database, letters = self._database, self.kinds[LETTER]
        periods = {"event": retention.processed, "delivery": retention.inbox}
        dues: list[Due] = []
        for name, seconds in periods.items():
            dues.append(Settled(self.kinds[name], database, seconds))
            dues.append(Expired(self.kinds[name], database))
        dues.append(self._ledger)
        dues.append(Closed(letters, database, retention.dead))
        if retention.archive is not None:
            # An open letter is never just deleted.
            dues.append(Open(letters, database, retention.dead, self._followers))
        return dues
