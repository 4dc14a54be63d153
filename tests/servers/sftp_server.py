"""An SFTP server for tests: real SSH, on an event loop of its own, with faults on demand."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import asyncssh

from shop.shipping.transfer.sftp_settings import SftpSettings

T = TypeVar("T")

Hook = Callable[[str, str], None]
"""Told the operation (open, write, fsync, rename) and the name, before it is done; may raise."""


class SftpServer:
    """`with SftpServer(tmp_path / "remote") as server:` serves that folder to one user.

    `server.settings()` is what a client has to be told. What `hook` raises as an
    `asyncssh.SFTPError` is the answer to the request.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host, self.port = "127.0.0.1", 0
        self.username = "shop"
        self.hook: Hook = lambda operation, name: None
        self.quota: int | None = None
        """How many bytes all files may have; then there is no space left."""
        self.uploaded = 0
        """Bytes of all writes that were done."""
        self.users: list[str] = []
        """Who wanted to log in, in order."""
        self.connections = 0
        """How many have logged in so far."""
        self.options: dict[str, Any] = {}
        """For asyncssh, from the next `start` on."""
        self.revealed: list[str] = []
        """Names without a dot at their beginning that files were given, in order."""
        self.sights: list[dict[str, int]] = []
        """The size of each such name, as it was before and after every operation."""
        self.cuts = 0
        """How often connections were cut."""
        self._until_cut: int | None = None
        self._open: set[asyncssh.SSHServerConnection] = set()
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._client_key = asyncssh.generate_private_key("ssh-ed25519")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sftp-server")
        self._acceptor: asyncssh.SSHAcceptor | None = None

    # --- what a client is told -----------------------------------------------------------------

    @property
    def host_key(self) -> str:
        return self._key.export_public_key().decode().strip()

    @property
    def client_key_file(self) -> Path:
        """Beside the folder; its key is let in."""
        file = self.folder.with_name(f"{self.folder.name}-client-key")
        if not file.exists():
            file.touch(0o600)
            file.write_bytes(self._client_key.export_private_key())
        return file

    def values(self, **changes: object) -> dict[str, object]:
        """For `Settings({"jobs": {"sftp": server.values()}})`."""
        told = {
            "strategy": "sftp",
            "host": self.host,
            "port": self.port,
            "username": self.username,
            "private_key": str(self.client_key_file),
            "host_key": self.host_key,
            "timeout": "5s",
        }
        return told | changes

    def settings(self, **changes: Any) -> SftpSettings:
        told: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "username": self.username,
            "private_key": self.client_key_file,
            "host_key": self.host_key,
            "timeout": 5.0,
        }
        return SftpSettings(**told | changes)

    # --- faults ----------------------------------------------------------------------------------

    def cut_after(self, bytes_more: int) -> None:
        """Once so many more bytes were written, cut every connection; once."""
        self._until_cut = bytes_more

    def cut(self) -> None:
        """Cut every connection now; new ones are taken. A hook may call it, too."""
        self._loop.call_soon_threadsafe(self._abort)

    def change_host_key(self, kind: str = "ssh-ed25519") -> None:
        """From the next connection on, be somebody else."""
        self._key = asyncssh.generate_private_key(kind)
        self.stop()
        self.start()

    def stop(self) -> None:
        """Take no connections, and cut those that there are; `start` takes the same port."""
        self._do(self._stop())

    def start(self) -> None:
        self._do(self._start())

    # --- its life --------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._do(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _start(self) -> None:
        self._acceptor = await asyncssh.create_server(
            lambda: _Login(self),
            self.host,
            self.port,
            reuse_address=True,
            server_host_keys=[self._key],
            sftp_factory=lambda channel: _Files(channel, self),
            config=None,
            **self.options,
        )
        self.port = self._acceptor.get_port()

    async def _stop(self) -> None:
        if self._acceptor is not None:
            self._acceptor.close()
            connections = list(self._open)
            self._abort()
            await asyncio.gather(*(connection.wait_closed() for connection in connections))
            await self._acceptor.wait_closed()
            self._acceptor = None

    def _abort(self) -> None:
        self.cuts += 1
        for connection in list(self._open):
            connection.abort()

    # --- told by its connections -----------------------------------------------------------------

    def connected(self, connection: asyncssh.SSHServerConnection) -> None:
        self._open.add(connection)

    def disconnected(self, connection: asyncssh.SSHServerConnection) -> None:
        self._open.discard(connection)

    def lets_in(self, username: str, key: asyncssh.SSHKey) -> bool:
        mine = self._client_key.convert_to_public()
        return username == self.username and key == mine

    def before(self, operation: str, path: bytes) -> None:
        self.look()
        self.hook(operation, Path(path.decode()).name)

    def look(self) -> None:
        sizes = self._sizes()
        self.sights.append({name: sizes[name] for name in sizes if not name.startswith(".")})

    def room(self, growth: int) -> int:
        """How much of a write is done before the disk is full, or the line is cut."""
        if self.quota is not None:
            growth = min(growth, max(0, self.quota - sum(self._sizes().values())))
        return growth if self._until_cut is None else min(growth, self._until_cut)

    def _sizes(self) -> dict[str, int]:
        sizes = {}
        for file in self.folder.iterdir():
            # The test may take files away meanwhile.
            with suppress(FileNotFoundError):
                sizes[file.name] = file.lstat().st_size
        return sizes

    def wrote(self, count: int) -> None:
        self.uploaded += count
        self.look()
        if self._until_cut is None:
            return
        self._until_cut -= count
        if self._until_cut == 0:
            self._until_cut = None
            self._abort()
            raise asyncssh.SFTPConnectionLost("cut")


def refusing(operation: str, error: asyncssh.SFTPError) -> Hook:
    """A hook that answers this operation with this error."""

    def refuse(now: str, _: str) -> None:
        if now == operation:
            raise error

    return refuse


class _Login(asyncssh.SSHServer):
    def __init__(self, server: SftpServer) -> None:
        self._server = server

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._server.connected(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.disconnected(self._connection)

    def begin_auth(self, username: str) -> bool:
        self._server.users.append(username)
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return self._server.lets_in(username, key)

    def auth_completed(self) -> None:
        self._server.connections += 1


class _Files(asyncssh.SFTPServer):
    def __init__(self, channel: asyncssh.SSHServerChannel[Any], server: SftpServer) -> None:
        super().__init__(channel, chroot=str(server.folder).encode())
        self._server = server
        self._cuts = server.cuts
        self._names: dict[int, bytes] = {}

    def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
        self._before("open", path)
        file = super().open(path, pflags, attrs)
        self._names[id(file)] = path
        self._server.look()
        return file

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        self._before("write", self._names[id(file_obj)])
        count = self._server.room(len(data))
        super().write(file_obj, offset, data[:count])
        self._server.wrote(count)
        if count < len(data):
            raise asyncssh.SFTPQuotaExceeded("the disk is full")
        return count

    def fsync(self, file_obj: object) -> None:
        self._before("fsync", self._names[id(file_obj)])
        super().fsync(file_obj)

    def rename(self, oldpath: bytes, newpath: bytes) -> None:
        self._before("rename", newpath)
        super().rename(oldpath, newpath)
        self._renamed(newpath)

    def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        self._before("rename", newpath)
        super().posix_rename(oldpath, newpath)
        self._renamed(newpath)

    def _before(self, operation: str, path: bytes) -> None:
        # What had arrived before the cut, and was not done yet, is lost with the connection.
        if self._cuts != self._server.cuts:
            raise asyncssh.SFTPConnectionLost("cut")
        self._server.before(operation, path)

    def _renamed(self, path: bytes) -> None:
        name = Path(path.decode()).name
        if not name.startswith("."):
            self._server.revealed.append(name)
        self._server.look()
