"""The file that is sent: read in pieces and off the event loop, so it may be of any size."""

import asyncio
import os
from pathlib import Path
from typing import Self

_PIECE = 1 << 20


class Source:
    """`with Source(path) as source:` keeps it open. A link in its place is not followed."""

    def __init__(self, path: Path | str, folder: int | None = None) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
        self.size = os.fstat(self._file).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._file, length, offset)

    async def piece(self, offset: int, length: int) -> bytes:
        return await asyncio.to_thread(self.read, offset, length)

    def begins_with(self, other: "Source") -> bool:
        if other.size > self.size:
            return False
        pieces = ((at, min(_PIECE, other.size - at)) for at in range(0, other.size, _PIECE))
        return all(self.read(*piece) == other.read(*piece) for piece in pieces)
