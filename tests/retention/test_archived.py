"""Whatever is deleted lies in the archive, exactly as it was."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.application import Placed, Shipped, history, publish, rows
from tests.retention.old_rows import (
    all_letters,
    archived,
    as_line,
    bury,
    clean,
    delivered,
    files,
    keeping,
    process,
)
from todoke import Todoke
from todoke.testing import Clock

# Every kind of character that a body can hold: of each length in UTF-8 and UTF-16, controls,
# separators that some readers of lines take for their end, marks, and those that JSON escapes.
STRANGE = "".join(
    ["aä語😀", *map(chr, range(1, 32)), "\x7f\x85\u2028\u2029\ufeff\u200d\u202e\U0010ffff\"\\/"]
)  # fmt: skip


@pytest.mark.parametrize("suffix", ["jsonl.zst", "jsonl.gz"])
def test_what_is_deleted_stands_in_the_archive(
    migrated_url: str, clock: Clock, folder: Path, suffix: str
) -> None:
    """OB-12 ER-5: of every kind, each column, and moments to the microsecond"""
    clock.set(clock.now() + timedelta(microseconds=123_457))
    settings: dict[str, object] = {"archive.to": str(folder), "archive.format": suffix}
    with keeping(migrated_url, clock, **settings) as app:
        process(app, *range(5))
        publish(app, Shipped(order_id=7))
        app.drain()
        bury(app, 8, 9)
        before = {
            "event": [as_line(row) for row in history(app)],
            "delivery": [as_line(row) for row in delivered(app)],
            "dead-letter": [as_line(row) for row in all_letters(app)],
        }
        clock.advance("20d")
        assert clean(app) == {"event": 6, "delivery": 2, "dead-letter": 2}
        for kind, was in before.items():
            assert [line.row for line in archived(app, kind)] == was
        assert (history(app), delivered(app), all_letters(app)) == ([], [], [])
        assert all(file.name.endswith(suffix) for file in files(app))


def test_a_body_is_kept_to_the_letter(app: Todoke, clock: Clock) -> None:
    """OB-12"""
    process(app, 1, note=STRANGE)
    (before,) = history(app)
    clock.advance("7d")
    clean(app)
    (line,) = archived(app)
    assert line.row["body"] == before.body
    assert STRANGE[:4] in before.body


def test_a_file_is_named_by_kind_and_day_and_writer(app: Todoke, clock: Clock) -> None:
    """OB-12: so no two processes write one file, and a day can be found"""
    process(app, 1)
    clock.advance("7d")
    process(app, 2)
    clean(app)
    clean(app)
    clock.advance("7d")
    clean(app)
    names = [file.name[:17] for file in files(app)]
    assert names == ["event-2026-01-08-", "event-2026-01-15-"]


def test_a_file_is_not_for_everybody(app: Todoke, clock: Clock) -> None:
    """OB-12: bodies may be personal"""
    process(app, 1)
    clock.advance("7d")
    clean(app)
    (file,) = files(app)
    assert [path.stat().st_mode & 0o007 for path in (file, file.parent)] == [0, 0]


def test_every_run_writes_files_of_its_own(app: Todoke, clock: Clock) -> None:
    """OB-12: nobody appends behind a frame that another left torn"""
    process(app, 1)
    clock.advance("1h")
    process(app, 2)
    clock.advance(f"{7 * 24 - 1}h")
    assert clean(app) == {"event": 1}
    clock.advance("1h")
    assert clean(app) == {"event": 1}
    assert len(files(app)) == 2


def test_rows_that_are_too_large_for_one_frame_get_several(
    app: Todoke, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-12: memory holds a frame, not a chunk"""
    monkeypatch.setattr("todoke.retention.clean._LARGEST_FRAME", 1)
    monkeypatch.setattr("todoke.retention.clean._PORTION", 2)
    process(app, *range(5))
    clock.advance("7d")
    assert clean(app) == {"event": 5}
    assert [int(line.row["key"]) for line in archived(app)] == list(range(5))


def test_the_list_tells_rows_and_span(app: Todoke, clock: Clock) -> None:
    """OB-12"""
    process(app, 1)
    first = clock.now()
    clock.advance("1h")
    process(app, 2)
    last = clock.now()
    clock.advance("7d")
    clean(app)
    (file,) = app.archive.list()
    assert (file.kind, file.rows, file.first, file.last) == ("event", 2, first, last)
    assert file.bytes == file.path.stat().st_size


def test_without_an_archive_rows_are_deleted(deleting: Todoke, clock: Clock) -> None:
    """OB-12"""
    process(deleting, 1, 2)
    publish(deleting, Placed(order_id=3))
    deleting.drain()
    clock.advance("7d")
    assert clean(deleting) == {"event": 3}
    assert rows(deleting, deleting.outbox_table.history) == []
