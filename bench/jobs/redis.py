"""A private Redis for the peers that need one: the machine's own, or Debian's package unpacked."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from signal import SIGTERM

from tests.servers.debian_packages import MACHINE, PackagesUnavailable, Tree, unpacked
from tests.servers.keeper import Keeper, KeeperFailed
from tests.servers.place import free_port, private_directory

SERVER = "usr/bin/redis-server"
PACKAGES = ("redis-server", "redis-tools", "lua-bitop", "lua-cjson")
READY = "Ready to accept connections"
EACH_SECOND, ALWAYS = "everysec", "always"


class Redis:
    """One connection to it, enough to count."""

    def __init__(self, port: int) -> None:
        self.url = f"redis://127.0.0.1:{port}/0"
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._answers = self._connection.makefile("rb")

    def count(self, *command: str) -> int:
        """What a command answers with a number, such as `LLEN celery`."""
        self._connection.sendall(" ".join(command).encode() + b"\r\n")
        answer = self._answers.readline()
        assert answer.startswith(b":"), answer
        return int(answer[1:])

    def close(self) -> None:
        self._answers.close()
        self._connection.close()


@contextmanager
def redis_instance(appendfsync: str) -> Iterator[Redis]:
    """Empty, with a log on a disk that is flushed each second, as its authors advise, or always."""
    tree, directory = find_tree(), private_directory("redis")
    keeper, port = Keeper(directory), free_port()
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(directory),
        "appendonly": "yes",
        "appendfsync": appendfsync,
        "save": "",
        "logfile": "/dev/stderr",  # where the keeper reads
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    try:
        keeper.start([*tree.command(SERVER), *options], READY, {})
        with closing(Redis(port)) as redis:
            yield redis
        keeper.stop(SIGTERM)
    except KeeperFailed as failure:
        raise OSError(f"redis-server did not start: {failure}") from failure
    finally:
        keeper.close()


def versions() -> dict[str, str]:
    """Of the server that would be started; nothing where there is none."""
    try:
        return {"Redis": _version(find_tree())}
    except OSError:
        return {}


@cache
def find_tree() -> Tree:
    """The first one whose server runs here; an OSError that says why there is none."""
    try:
        _version(MACHINE)
    except (OSError, subprocess.SubprocessError):
        pass
    else:
        return MACHINE
    try:
        tree = unpacked("redis", PACKAGES)
        _version(tree)
    except (OSError, subprocess.SubprocessError, PackagesUnavailable) as refusal:
        reason = f"no redis-server here, and its packages cannot be unpacked: {refusal}"
        raise OSError(reason) from refusal
    return tree


def _version(tree: Tree) -> str:
    command = [*tree.command(SERVER), "--version"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout
    return next(word for word in told.split() if word.startswith("v=")).removeprefix("v=")
