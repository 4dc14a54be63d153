"""A private OpenSSH server for SFTP, which lets one key in."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.availability import ServerUnavailable
from tests.servers.debian_packages import Tree
from tests.servers.installed import find_tree
from tests.servers.keeper import Keeper, KeeperFailed
from tests.servers.place import Account, free_port, own, private_directory, unprivileged_account

PROGRAM = "usr/sbin/sshd"
READY = "Server listening on"
CONFIGURATION = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {directory}/host-key
AuthorizedKeysFile {directory}/authorized-keys
PidFile none
AuthenticationMethods publickey
UsePAM no
StrictModes no
Subsystem sftp internal-sftp
"""


class Sshd:
    """Runs as an account that is not root, and can let in nobody else than this account."""

    def __init__(self, keeper: Keeper, tree: Tree, directory: Path, port: int) -> None:
        self.host = "127.0.0.1"
        self.port = port
        self.client_key_file = directory / "client-key"
        self._keeper = keeper
        self._tree = tree
        self._directory = directory

    @property
    def username(self) -> str:
        return pwd.getpwuid(unprivileged_account().get("user", os.geteuid())).pw_name

    @property
    def host_key(self) -> str:
        """The server's public key, as OpenSSH writes it."""
        return (self._directory / "host-key.pub").read_text().strip()

    def folder(self, name: str) -> Path:
        """A fresh folder that it may write to."""
        folder = self._directory / name
        folder.mkdir()
        self.give(folder)
        return folder

    def give(self, path: Path) -> None:
        """Let its account own what a test has made."""
        own(path, unprivileged_account())

    def start(self) -> None:
        """Starts it; returns when it takes connections."""
        flags = ["-D", "-e", "-f", str(self._directory / "sshd_config")]
        # systemd would answer that the account nobody is locked, and OpenSSH would believe it.
        command = ["env", "SYSTEMD_NSS_BYPASS_SYNTHETIC=1", *self._tree.command(PROGRAM), *flags]
        self._keeper.start(command, READY, unprivileged_account())

    def stop(self) -> None:
        """Takes no more connections; those that there are end with their clients."""
        self._keeper.stop(signal.SIGTERM)


@contextmanager
def sshd_instance() -> Iterator[Sshd]:
    """An OpenSSH server of one's own; skips the test where there is none."""
    directory = private_directory("sshd")
    keeper = Keeper(directory)
    try:
        yield first_start(directory, keeper)
    finally:
        keeper.close()


def first_start(directory: Path, keeper: Keeper) -> Sshd:
    tree = find_tree("sshd", "openssh-server", directory, try_to_run)
    try:
        port = free_port()
        make_keys(directory)
        configuration = CONFIGURATION.format(port=port, directory=directory)
        (directory / "sshd_config").write_text(configuration)
        server = Sshd(keeper, tree, directory, port)
        server.start()
    except (OSError, KeeperFailed) as failure:
        reason = str(failure).replace(str(directory), "…")
        raise ServerUnavailable("sshd", reason) from failure
    return server


def make_keys(directory: Path) -> None:
    # Not above: it takes long to import, and most tests need no server of this kind.
    import asyncssh

    host, client = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    for key, name in ((host, "host-key"), (client, "client-key")):
        (directory / name).touch(0o600)
        (directory / name).write_bytes(key.export_private_key())
    (directory / "host-key.pub").write_bytes(host.export_public_key())
    (directory / "authorized-keys").write_bytes(client.export_public_key())
    own(directory / "host-key", unprivileged_account())


def try_to_run(tree: Tree, account: Account) -> Tree:
    # It knows no --version before 9.x; with any unknown flag it says it, and how it is used.
    finished = subprocess.run(
        [*tree.command(PROGRAM), "-V"],
        check=False,
        capture_output=True,
        cwd="/",
        text=True,
        timeout=30,
        **account,
    )
    if "OpenSSH" not in finished.stderr:
        raise OSError(finished.stderr.strip() or f"status {finished.returncode}")
    return tree
