"""Where a private server lives: a directory, an account and a port of its own."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import socket
import stat
import tempfile
from pathlib import Path
from typing import TypedDict


class Account(TypedDict, total=False):
    """Keywords for `subprocess`: whose process it shall be."""

    user: int
    group: int
    extra_groups: list[int]


def unprivileged_account() -> Account:
    """For servers that refuse to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def own(path: Path, account: Account) -> None:
    if account:
        os.chown(path, account["user"], account["group"], follow_symlinks=False)


def private_directory(server: str) -> Path:
    directory = Path(tempfile.mkdtemp(prefix=f"todoke-{server}-", dir=public_folder()))
    own(directory, unprivileged_account())
    return directory


ON_DISK = "TODOKE_SERVERS_ON_DISK"
_MEMORY, _ENOUGH = "/dev/shm", 4 << 30  # noqa: S108


def public_folder() -> str:
    """Where an unprivileged account may go too: root's own temporary folder can be closed to it.

    In memory where there is plenty, since tests make hundreds of databases; what dies in them are
    processes, never the machine. Measurements ask for a disk.
    """
    folders = [tempfile.gettempdir(), "/tmp", "/var/tmp"]  # noqa: S108
    if ON_DISK not in os.environ and _has_memory():
        folders.insert(0, _MEMORY)
    for folder in folders:
        path = Path(folder).resolve()
        if all(each.stat().st_mode & stat.S_IXOTH for each in (path, *path.parents)):
            return folder
    return tempfile.gettempdir()


def _has_memory() -> bool:
    return os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH


def free_port() -> int:
    # Below the range that outgoing connections draw from: a stopped server's port stays free.
    for port in random.sample(range(15_000, 32_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no free port between 15000 and 32000")
