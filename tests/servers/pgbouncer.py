"""A private PgBouncer in transaction mode, in front of a private PostgreSQL."""

from __future__ import annotations

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
from tests.servers.postgres import PostgresServer

PROGRAM = "usr/sbin/pgbouncer"
READY = "process up"
CONFIGURATION = """\
[databases]
* = host=127.0.0.1 port={behind} user=postgres

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
max_client_conn = 200
"""


class PgBouncer:
    """Hands each transaction to one of few connections: nothing of a session outlives it."""

    def __init__(self, keeper: Keeper, tree: Tree, configuration: Path, port: int) -> None:
        self.port = port
        self._keeper = keeper
        self._tree = tree
        self._configuration = configuration

    def url(self, database: str = "postgres") -> str:
        """The address of one of the databases behind it, for SQLAlchemy."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Starts it; returns when it takes connections."""
        command = [*self._tree.command(PROGRAM), str(self._configuration)]
        self._keeper.start(command, READY, unprivileged_account())

    def stop(self) -> None:
        """Stops it at once; clients lose their connections."""
        self._keeper.stop(signal.SIGQUIT)


@contextmanager
def pgbouncer_instance(behind: PostgresServer) -> Iterator[PgBouncer]:
    """A PgBouncer of one's own; skips the test where there is none."""
    directory = private_directory("pgbouncer")
    keeper = Keeper(directory)
    try:
        yield first_start(directory, keeper, behind)
    finally:
        keeper.close()


def first_start(directory: Path, keeper: Keeper, behind: PostgresServer) -> PgBouncer:
    tree = find_tree("pgbouncer", "pgbouncer", directory, try_to_run)
    try:
        port = free_port()
        configuration = directory / "pgbouncer.ini"
        configuration.write_text(CONFIGURATION.format(port=port, behind=behind.port))
        own(configuration, unprivileged_account())
        server = PgBouncer(keeper, tree, configuration, port)
        server.start()
    except (OSError, KeeperFailed) as failure:
        reason = str(failure).replace(str(directory), "…")
        raise ServerUnavailable("pgbouncer", reason) from failure
    return server


def try_to_run(tree: Tree, account: Account) -> Tree:
    subprocess.run(
        [*tree.command(PROGRAM), "--version"],
        check=True,
        capture_output=True,
        cwd="/",
        timeout=30,
        **account,
    )
    return tree
