"""Files go to a folder of this machine, where somebody else takes them away."""

import asyncio
import errno
import os
import stat
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from shop.shipping.transfer.source import Source
from shop.shipping.transfer.strategy import checked_name, draft_name, name_taken, no_file
from todoke import PermanentError

_PIECE = 1 << 20


class LocalTransfer:
    """Makes the folder when it is missing. Its file system must know hard links."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def where(self) -> str:
        return str(self._folder)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["LocalPlace"]:
        await asyncio.to_thread(self._folder.mkdir, parents=True, exist_ok=True)
        yield LocalPlace(self._folder)


class LocalPlace:
    """Each call opens the folder for itself: its thread may outlive a call that was given up."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def upload(self, file: Path) -> None:
        draft = draft_name(file.name)
        given_up = threading.Event()
        try:
            await asyncio.to_thread(self._upload, file, draft, given_up)
        finally:
            given_up.set()

    async def reveal(self, name: str) -> bool:
        return await asyncio.to_thread(self._reveal, checked_name(name), draft_name(name))

    # --- in a thread -------------------------------------------------------------------------

    def _upload(self, file: Path, draft: str, given_up: threading.Event) -> None:
        with Source(file) as source, self._opened() as folder:
            done = self._done(source, draft, folder)
            # Made only to be written from its beginning: a new one in place of the one that was
            # just looked at, and has got its name meanwhile, would begin with a hole.
            flags = os.O_WRONLY | os.O_NOFOLLOW | (0 if done else os.O_CREAT)
            there = os.open(draft, flags, 0o666, dir_fd=folder)
            try:
                os.lseek(there, done, os.SEEK_SET)
                while done < source.size and not given_up.is_set():
                    done += os.write(there, source.read(done, _PIECE))
                os.fsync(there)
                size = os.fstat(there).st_size
            finally:
                os.close(there)
            if size != source.size and not given_up.is_set():
                raise OSError(errno.EIO, f"{size} bytes arrived of {source.size}", draft)

    def _done(self, source: Source, draft: str, folder: int) -> int:
        """How much of it an earlier attempt has left there; what is no part of it is removed."""
        if not self._has(draft, folder, no_file):
            return 0
        with Source(draft, folder) as there:
            if source.begins_with(there):
                return there.size
        # Not truncated: an attempt that was given up may still write to it.
        os.unlink(draft, dir_fd=folder)
        return 0

    def _reveal(self, name: str, draft: str) -> bool:
        with self._opened() as folder:
            if self._has(draft, folder, no_file):
                self._rename(draft, name, folder)
            os.fsync(folder)
            return self._has(name, folder, name_taken)

    def _rename(self, draft: str, name: str, folder: int) -> None:
        # Whoever does the same at the same time may be ahead with each step.
        with suppress(FileNotFoundError):
            try:
                # Not os.rename: it would overwrite. A link fails when the name is taken.
                os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                self._check_same(draft, name, folder)
            os.unlink(draft, dir_fd=folder)

    def _check_same(self, draft: str, name: str, folder: int) -> None:
        # A crash between link and unlink has left both, or the file was sent a second time.
        if self._has(name, folder, name_taken):
            with Source(draft, folder) as ours, Source(name, folder) as theirs:
                if ours.size != theirs.size or not ours.begins_with(theirs):
                    raise name_taken(name, str(self._folder))

    def _has(self, name: str, folder: int, other: Callable[[str, str], PermanentError]) -> bool:
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(mode):
            raise other(name, str(self._folder))
        return True

    @contextmanager
    def _opened(self) -> Iterator[int]:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield folder
        finally:
            os.close(folder)
