"""Archive files: complete frames, each on disk before its rows are deleted.

    event-2026-01-31-0192….jsonl.zst      kind, day of writing (UTC), writer

Every writer has files of its own, so no two processes ever write one file, and nobody appends
behind a frame that another left torn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import Any

from todoke.errors import UnreadableArchive
from todoke.retention.format import SUFFIXES, Decoder, Format, format_for
from todoke.retention.line import Kind, Line, NotALine, read_line
from todoke.retention.period import Folder
from todoke.telemetry import log

_BLOCK = 1 << 16
_NAME = re.compile(
    r"(?P<kind>[a-z-]+)-\d{4}-\d\d-\d\d-[0-9a-f-]{36}\.(?:"
    + "|".join(re.escape(suffix) for suffix in SUFFIXES)
    + ")"
)


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One file: how many rows it holds, and when the first and the last of them were over."""

    path: Path
    kind: str
    rows: int
    first: datetime | None
    last: datetime | None
    bytes: int


class Writer:
    """Appends frames to files of its own."""

    def __init__(self, folder: Folder, draw: Callable[[], object]) -> None:
        self._folder, self._format, self._draw = folder.path, folder.format, draw
        self._name = draw()

    def append(self, kind: str, day: datetime, lines: list[bytes]) -> Path:
        """Write one frame; when this returns it is on disk."""
        path = self._folder / f"{kind}-{day:%Y-%m-%d}-{self._name}.{self._format.suffix}"
        _make(self._folder)
        with FileIO(path, "a", opener=_open) as file:
            before = file.tell()
            try:
                _write(file, self._format.compress(b"".join(lines)))
                if before == 0:
                    _sync(self._folder)
            except BaseException:
                # What is on disk of it is not known: never write behind it.
                self._name = self._draw()
                _cut(file, path, before)
                raise
        return path


def _write(file: FileIO, frame: bytes) -> None:
    left = memoryview(frame)
    while left:
        left = left[file.write(left) or 0 :]
    os.fsync(file.fileno())


def _cut(file: FileIO, path: Path, length: int) -> None:
    with suppress(OSError):
        if length:
            file.truncate(length)
        else:
            path.unlink()


def _open(path: str, flags: int) -> int:
    """Bodies may be personal: not for everybody on this machine."""
    return os.open(path, flags, 0o640)


def _make(folder: Path) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    for one in missing:
        _sync(one.parent)


def _sync(folder: Path) -> None:
    """A new name is in its folder only once that is on disk, too."""
    if os.name != "posix":  # pragma: no cover - elsewhere a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def files_in(folder: Path, kind: str | None = None) -> list[Path]:
    """The archive's files, by kind and day."""
    if not folder.is_dir():
        return []
    named = ((path, _NAME.fullmatch(path.name)) for path in sorted(folder.iterdir()))
    return [path for path, name in named if name and kind in (None, name["kind"])]


def describe(path: Path, kinds: Mapping[str, Kind]) -> ArchiveFile:
    moments, count, kind = [], 0, ""
    for line in read(path, kinds):
        count, kind = count + 1, line.kind
        moments.append(line.row[kinds[kind].over])
        moments = [min(moments), max(moments)]
    first, last = moments or (None, None)
    named = _NAME.fullmatch(path.name)
    return ArchiveFile(
        path, kind or (named["kind"] if named else ""), count, first, last, path.stat().st_size
    )


def read(path: Path, kinds: Mapping[str, Kind]) -> Iterator[Line]:
    """Every archived row of the file; one may come twice, or stand in another file as well."""
    for frame in _frames(path, format_for(path)):
        for text in frame.split(b"\n")[:-1]:
            try:
                yield read_line(kinds, text)
            except NotALine as error:
                raise UnreadableArchive(path, str(error)) from error


def _frames(path: Path, format: Format) -> Iterator[bytes]:
    """The complete frames; reading ends at one that is not."""
    with path.open("rb") as file:
        decoder, parts = _fresh(format)
        while block := file.read(_BLOCK):
            while block:
                try:
                    parts.append(decoder.decompress(block))
                except format.damaged:
                    _warn(path)
                    return
                block = decoder.unused_data if decoder.eof else b""
                if decoder.eof:
                    yield b"".join(parts)
                    decoder, parts = _fresh(format)
        if parts:
            _warn(path)


def _fresh(format: Format) -> tuple[Decoder, list[Any]]:
    return format.decoder(), []


def _warn(path: Path) -> None:
    log.warning(
        "archive file %s ends in a torn frame: what stood in it was not deleted then, and was "
        "archived again later",
        path,
    )
