"""Finds MariaDB's programs: first the machine's own, then those of unpacked Debian packages."""

from __future__ import annotations

import subprocess

from tests.servers.availability import ServerUnavailable
from tests.servers.debian_packages import MACHINE, PackagesUnavailable, Tree, unpacked

PACKAGES = ("mariadb-server-core", "mariadb-client-core", "mariadb-common")
SERVER = "usr/sbin/mariadbd"
INSTALL = "usr/bin/mariadb-install-db"


def find_tree() -> Tree:
    """The first one whose server runs here."""
    try:
        return try_to_run(MACHINE)
    except (OSError, subprocess.SubprocessError):
        pass
    try:
        return try_to_run(unpacked("mariadb", PACKAGES))
    except (OSError, subprocess.SubprocessError, PackagesUnavailable) as refusal:
        reason = f"it is not installed, and its packages cannot be unpacked: {refusal}"
        raise ServerUnavailable("mariadb", reason) from refusal


def try_to_run(tree: Tree) -> Tree:
    subprocess.run(
        [*tree.command(SERVER), "--version"], check=True, capture_output=True, timeout=30
    )
    return tree
