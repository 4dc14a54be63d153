"""Files that were torn, cut off or full: what was complete can always be read."""

from __future__ import annotations

import logging
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from tests.retention.old_rows import archived, clean, files, process, settled
from todoke import Todoke
from todoke.errors import InvalidOption, UnreadableArchive
from todoke.retention.file import Writer, read
from todoke.retention.format import SUFFIXES, format_of
from todoke.retention.period import Folder
from todoke.testing import Clock

DAY = datetime(2026, 1, 1, tzinfo=UTC)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process can grow beyond this: as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def two_frames(app: Todoke, clock: Clock) -> Path:
    """A file of two frames, with rows 1 and 2."""
    process(app, 1, 2)
    clock.advance("7d")
    with app.engine.connect() as connection:
        cleaning = app.archive.cleaning(chunk=1)
        cleaning.clean_all(connection, lambda _kind, _rows: None)
    (file,) = files(app)
    return file


@pytest.mark.parametrize("missing", [1, 7])
def test_a_torn_frame_spoils_nothing_before_it(
    app: Todoke, clock: Clock, missing: int, caplog: pytest.LogCaptureFixture
) -> None:
    """OB-12"""
    file = two_frames(app, clock)
    whole = file.read_bytes()
    file.write_bytes(whole[:-missing])
    with caplog.at_level(logging.WARNING, "todoke"):
        assert [line.row["key"] for line in archived(app)] == ["1"]
    assert "torn frame" in caplog.text


def test_a_damaged_frame_is_noticed(
    app: Todoke, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """OB-12: a changed byte is not taken for a row"""
    file = two_frames(app, clock)
    whole = bytearray(file.read_bytes())
    whole[-12] ^= 0xFF
    file.write_bytes(whole)
    with caplog.at_level(logging.WARNING, "todoke"):
        assert [line.row["key"] for line in archived(app)] == ["1"]
    assert "torn frame" in caplog.text


def test_nobody_writes_behind_a_torn_frame(app: Todoke, clock: Clock) -> None:
    """OB-12: what comes later has a file of its own"""
    file = two_frames(app, clock)
    torn = file.read_bytes()[:-5]
    file.write_bytes(torn)
    process(app, 3)
    clock.advance("7d")
    clean(app)
    assert file.read_bytes() == torn
    assert sorted(line.row["key"] for line in archived(app)) == ["1", "3"]
    assert settled(app) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_no_torn_frame(tmp_path: Path, suffix: str) -> None:
    """OB-12: what was begun is cut off, and what comes later can be read"""
    format = format_of(suffix)
    writer = Writer(Folder(tmp_path, format), uuid4)
    noise = [uuid4().bytes * 8 for _ in range(200)]
    first = writer.append("event", DAY, [b"first\n"])
    whole = first.read_bytes()
    with largest_file(len(whole) + 100), pytest.raises(OSError, match="too large"):
        writer.append("event", DAY, noise)
    assert first.read_bytes() == whole
    with largest_file(100), pytest.raises(OSError, match="too large"):
        writer.append("event", DAY, noise)
    assert sorted(tmp_path.iterdir()) == [first], "a file without a frame was left"
    second = writer.append("event", DAY, [b"second\n"])
    assert format.decoder().decompress(second.read_bytes()) == b"second\n"


def test_a_file_of_a_later_release_is_refused(app: Todoke, tmp_path: Path) -> None:
    """OB-12"""
    file = tmp_path / "event.jsonl.gz"
    later = b'{"archive":2,"kind":"event","row":{}}\n'
    file.write_bytes(format_of("jsonl.gz").compress(later))
    with pytest.raises(UnreadableArchive, match=r"event\.jsonl\.gz: it is of format 2"):
        list(read(file, app.archive.kinds))


@pytest.mark.parametrize("line", [b"[]\n", b'{"archive":1}\n', b"nonsense\n", b'"\xff"\n'])
def test_a_file_that_todoke_did_not_write_is_refused(
    app: Todoke, tmp_path: Path, line: bytes
) -> None:
    """OB-12"""
    file = tmp_path / "event.jsonl.gz"
    file.write_bytes(format_of("jsonl.gz").compress(line))
    with pytest.raises(UnreadableArchive, match="did not write"):
        list(read(file, app.archive.kinds))


def test_a_file_of_another_name_is_refused(app: Todoke, tmp_path: Path) -> None:
    """OB-12"""
    with pytest.raises(InvalidOption, match=r"must end with \.jsonl\.zst or \.jsonl\.gz"):
        list(read(tmp_path / "event.csv", app.archive.kinds))
