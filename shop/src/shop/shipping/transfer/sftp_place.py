"""A folder of an SFTP server, over an open connection."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import asyncssh

from shop.shipping.transfer.in_flight import InFlight
from shop.shipping.transfer.sftp_errors import classified, no_folder, wrong_size
from shop.shipping.transfer.sftp_settings import SftpSettings
from shop.shipping.transfer.source import Source
from shop.shipping.transfer.strategy import checked_name, draft_name, name_taken, no_file
from todoke import PermanentError

# What every server takes in one request.
_PIECE = 32768
_UNKNOWN = asyncssh.FILEXFER_TYPE_UNKNOWN
_FOLDER = (asyncssh.FILEXFER_TYPE_DIRECTORY, _UNKNOWN)
_MISSING = (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath, asyncssh.SFTPNotADirectory)
_FILE = (asyncssh.FILEXFER_TYPE_REGULAR, _UNKNOWN)

T = TypeVar("T")
Read = Callable[[int, int], Awaitable[bytes]]


class SftpPlace:
    def __init__(self, client: asyncssh.SFTPClient, settings: SftpSettings, where: str) -> None:
        self._client = client
        self._settings = settings
        self._where = where

    async def check_folder(self) -> None:
        """A folder that is missing would look like one that a receiver has emptied."""
        try:
            found = await self._answer(self._client.stat(self._settings.folder))
        except _MISSING as error:
            raise no_folder(self._settings) from error
        if found.type not in _FOLDER:
            raise no_folder(self._settings)

    async def upload(self, file: Path) -> None:
        draft = draft_name(file.name)
        with Source(file) as source, classified(self._settings):
            done = await self._done(source, draft)
            size = await self._complete(source, draft, done)
        if size != source.size:
            raise wrong_size(draft, size, source.size, self._settings)

    async def reveal(self, name: str) -> bool:
        name, draft = checked_name(name), draft_name(name)
        with classified(self._settings):
            if await self._is_draft_alone(draft, name):
                try:
                    await self._answer(self._client.rename(self._path(draft), self._path(name)))
                except asyncssh.SFTPError:
                    # Whoever does the same at the same time may be ahead.
                    if await self._is_draft_alone(draft, name):
                        raise
            return await self._size(name, name_taken) is not None

    async def _is_draft_alone(self, draft: str, name: str) -> bool:
        size = await self._size(draft, no_file)
        if size is None:
            return False
        taken = await self._size(name, name_taken)
        if taken is None:
            return True
        # OpenSSH renames by link and unlink, and a crash between leaves both.
        if size != taken or not await self._is_same(draft, name, size):
            raise name_taken(name, self._where)
        await self._answer(self._client.remove(self._path(draft)))
        return False

    async def _complete(self, source: Source, draft: str, done: int) -> int:
        """The draft's size in the end."""
        # Made only to be written from its beginning: a new one in place of the one that was just
        # looked at, and has got its name meanwhile, would begin with a hole.
        flags = asyncssh.FXF_WRITE | (0 if done else asyncssh.FXF_CREAT)
        try:
            async with self._opened(draft, flags) as there:
                await self._send(source, there, done)
                # A server that does not know the request keeps files in its own way.
                with suppress(asyncssh.SFTPOpUnsupported):
                    await self._answer(there.fsync())
                return (await self._answer(there.stat())).size or 0
        except asyncssh.SFTPNoSuchFile:
            if not done:
                raise
            return 0

    async def _done(self, source: Source, draft: str) -> int:
        """How much of it an earlier attempt has left there; what is no part of it is removed."""
        size = await self._size(draft, no_file)
        if size is None or (size <= source.size and await self._begins(source, draft, size)):
            return size or 0
        # Not truncated: an attempt that was given up may still write to it.
        with suppress(asyncssh.SFTPNoSuchFile):
            await self._answer(self._client.remove(self._path(draft)))
        return 0

    async def _begins(self, source: Source, draft: str, size: int) -> bool:
        async with self._opened(draft, asyncssh.FXF_READ) as there:
            return await self._is_alike(source.piece, _reading(there), size)

    async def _is_same(self, one: str, other: str, size: int) -> bool:
        async with (
            self._opened(one, asyncssh.FXF_READ) as ours,
            self._opened(other, asyncssh.FXF_READ) as theirs,
        ):
            return await self._is_alike(_reading(ours), _reading(theirs), size)

    async def _is_alike(self, ours: Read, theirs: Read, size: int) -> bool:
        try:
            async with InFlight(self._settings.timeout) as flight:
                for at in range(0, size, _PIECE):
                    await flight.send(_compare(ours, theirs, at, min(_PIECE, size - at)))
        except _Differs:
            return False
        return True

    async def _send(self, source: Source, there: asyncssh.SFTPClientFile, done: int) -> None:
        async with InFlight(self._settings.timeout) as flight:
            # In order: what arrives before a cut is a beginning of the file, without holes.
            for at in range(done, source.size, _PIECE):
                await flight.send(_write(there, await source.piece(at, _PIECE), at))

    async def _size(self, name: str, other: Callable[[str, str], PermanentError]) -> int | None:
        """None when it is not there; whatever is no file is refused by `other`."""
        try:
            found = await self._answer(self._client.lstat(self._path(name)))
        except asyncssh.SFTPNoSuchFile:
            return None
        if found.type not in _FILE:
            raise other(name, self._where)
        return found.size or 0

    @asynccontextmanager
    async def _opened(self, name: str, flags: int) -> AsyncIterator[asyncssh.SFTPClientFile]:
        # Blocks of zero bytes: one call is one request.
        file = await self._answer(
            self._client.open(self._path(name), flags, encoding=None, block_size=0)
        )
        # After a failure it is closed with the connection: the server may not answer any more.
        yield file
        await self._answer(file.close())

    async def _answer(self, request: Awaitable[T]) -> T:
        async with asyncio.timeout(self._settings.timeout):
            return await request

    def _path(self, name: str) -> str:
        return f"{self._settings.folder}/{name}"


class _Differs(Exception):
    pass


async def _compare(ours: Read, theirs: Read, at: int, length: int) -> None:
    if await ours(at, length) != await theirs(at, length):
        raise _Differs


async def _write(there: asyncssh.SFTPClientFile, piece: bytes, at: int) -> None:
    await there.write(piece, at)


def _reading(there: asyncssh.SFTPClientFile) -> Read:
    async def read(at: int, length: int) -> bytes:
        found = b""
        # A server may answer with less than it was asked for.
        while len(found) < length:
            more: bytes = await there.read(length - len(found), at + len(found))
            if not more:
                break
            found += more
        return found

    return read
