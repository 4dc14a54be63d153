"""A private MariaDB on a free port of 127.0.0.1, with durable settings."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.exc import OperationalError

from tests.servers.availability import ServerUnavailable
from tests.servers.debian_packages import Tree
from tests.servers.keeper import Keeper, KeeperFailed
from tests.servers.mariadb_binaries import INSTALL, SERVER, find_tree
from tests.servers.place import free_port, private_directory

SETTINGS = {
    "bind-address": "127.0.0.1",
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_general_ci",
    "innodb-flush-log-at-trx-commit": "1",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "32M",
    "max-allowed-packet": "64M",
    "max-connections": "200",
    "performance-schema": "off",
    "skip-log-bin": "on",
    "skip-name-resolve": "on",
    # Within its data: the whole path of a socket may be too long.
    "socket": "socket",
    "pid-file": "pid",
}
READY = "ready for connections"


class MariaDbServer:
    """One server with its own data; keeps its port when it is stopped and started again."""

    def __init__(self, keeper: Keeper, tree: Tree, directory: Path, port: int) -> None:
        self.port = port
        self._keeper = keeper
        self._tree = tree
        self._directory = directory

    def url(self, database: str = "mysql") -> str:
        """The address of one of its databases, for SQLAlchemy."""
        # Without TLS, whose certificates the driver would read anew for each connection.
        options = "charset=utf8mb4&ssl_disabled=true"
        return f"mariadb+pymysql://root@127.0.0.1:{self.port}/{database}?{options}"

    def start(self) -> None:
        """Starts it; returns when it takes connections."""
        settings = {**SETTINGS, "port": str(self.port)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        places = arguments(self._tree, self._directory)
        self._keeper.start([*self._tree.command(SERVER), *places, *options], READY, {})

    def stop(self) -> None:
        """Stops it in good order: open transactions are rolled back, connections closed."""
        self._keeper.stop(signal.SIGTERM)

    def stop_immediately(self) -> None:
        """Stops it as a crash would: the next start has to recover."""
        self._keeper.stop(signal.SIGKILL)

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a fresh database, which is dropped at the end."""
        name = f"test_{uuid.uuid4().hex}"
        self._administer(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self._end_sessions(name)
            self._administer(f"DROP DATABASE {name}")

    def _end_sessions(self, database: str) -> None:
        # A transaction that a test left open would make the drop wait for its locks.
        sessions = "SELECT id FROM information_schema.processlist WHERE db = %s"
        with self.connection() as connection:
            for number in connection.exec_driver_sql(sessions, (database,)).scalars().all():
                with suppress(OperationalError):  # it ended by itself since
                    connection.exec_driver_sql(f"KILL {int(number)}")

    def _administer(self, statement: str) -> None:
        with self.connection() as connection:
            connection.exec_driver_sql(statement)

    def connection(self) -> Connection:
        """A connection of one's own, each statement its own transaction."""
        return self._engine.connect()

    @cached_property
    def _engine(self) -> Engine:
        return create_engine(self.url(), poolclass=NullPool, isolation_level="AUTOCOMMIT")


@contextmanager
def mariadb_instance() -> Iterator[MariaDbServer]:
    """A server of one's own, for tests that stop it; skips the test where there is none."""
    directory = private_directory("mariadb")
    keeper = Keeper(directory)
    try:
        yield first_start(directory, keeper)
    finally:
        keeper.close()


def first_start(directory: Path, keeper: Keeper) -> MariaDbServer:
    tree = find_tree()
    try:
        create_data(directory, keeper, tree)
        server = MariaDbServer(keeper, tree, directory, free_port())
        server.start()
    except (OSError, KeeperFailed) as failure:
        reason = str(failure).replace(str(directory), "…")
        raise ServerUnavailable("mariadb", reason) from failure
    return server


def create_data(directory: Path, keeper: Keeper, tree: Tree) -> None:
    size = f"--innodb-log-file-size={SETTINGS['innodb-log-file-size']}"
    flags = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
    places = arguments(tree, directory)
    keeper.run([*tree.command(INSTALL), *places, *flags, size], {})


def arguments(tree: Tree, directory: Path) -> list[str]:
    # A server that starts removes temporary tables, also those of others in the same folder.
    temporary = directory / "temporary"
    temporary.mkdir(exist_ok=True)
    places = {"basedir": tree.root / "usr", "datadir": directory / "data", "tmpdir": temporary}
    told = ["--no-defaults", *(f"--{name}={place}" for name, place in places.items())]
    # Unlike PostgreSQL it runs as root when told so, and its packages may lie in root's own folder.
    return [*told, "--user=root"] if os.geteuid() == 0 else told
