"""A file is there whole or not at all, whoever dies while it is written."""

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from shop.shipping.model import Content
from todoke import crash

crash.declare("file.before_write", "file.after_write", "file.after_sync", "file.after_rename")


def write_whole(path: Path, pieces: Iterable[bytes]) -> Content:
    """Write beside it under a hidden name, make it durable, then give it its name in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_drafts(path)
    draft = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    crash.point("file.before_write")
    try:
        written = _write(draft, pieces)
    except OSError:
        # Perhaps the disk is full: what cannot be finished must not fill it further.
        with suppress(OSError):
            draft.unlink()
        raise
    crash.point("file.after_sync")
    draft.replace(path)
    crash.point("file.after_rename")
    _make_durable(path.parent)
    return written


def digest(path: Path) -> str | None:
    """Of what the file holds; None where there is none."""
    found = sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(65536):
                found.update(piece)
    except FileNotFoundError:
        return None
    return found.hexdigest()


def _write(draft: Path, pieces: Iterable[bytes]) -> Content:
    found, size = sha256(), 0
    with draft.open("xb") as file:
        for piece in pieces:
            file.write(piece)
            found.update(piece)
            size += len(piece)
        crash.point("file.after_write")
        file.flush()
        os.fsync(file.fileno())
    return Content(size, found.hexdigest())


def _remove_drafts(path: Path) -> None:
    """Those of writers that died; one that only slept finds its draft gone, and fails."""
    for draft in path.parent.glob(f".{path.name}.*.tmp"):
        with suppress(FileNotFoundError):
            draft.unlink()


def _make_durable(folder: Path) -> None:
    """The name, too: a folder is a file that holds names."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
