"""Finds a server's program: the machine's own, or that of unpacked packages."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.servers.availability import ServerUnavailable
from tests.servers.debian_packages import MACHINE, PackagesUnavailable, Tree, unpacked
from tests.servers.place import Account, unprivileged_account

Trial = Callable[[Tree, Account], Tree]
"""Starts the program to see whether it can be run; raises otherwise."""


def find_tree(server: str, package: str, directory: Path, trial: Trial) -> Tree:
    """Unpacked packages are copied to where the server's account can reach them."""
    account = unprivileged_account()
    try:
        return trial(MACHINE, account)
    except (OSError, subprocess.SubprocessError):
        pass
    try:
        copy = directory / "installation"
        shutil.copytree(unpacked(server, [package]).root, copy, symlinks=True)
        return trial(Tree(copy), account)
    except (OSError, subprocess.SubprocessError, PackagesUnavailable) as refusal:
        reason = f"it is not installed, and its packages cannot be unpacked: {refusal}"
        raise ServerUnavailable(server, reason) from refusal
