"""A private PostgreSQL on a free port of 127.0.0.1, with durable settings."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql

from tests.servers.availability import ServerUnavailable
from tests.servers.keeper import Keeper, KeeperFailed
from tests.servers.place import free_port, private_directory
from tests.servers.postgres_binaries import Binaries, find_binaries

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "lc_messages": "C",
    "fsync": "on",
    "synchronous_commit": "on",
    "wal_level": "logical",
    "max_connections": "200",
    "max_prepared_transactions": "20",
    "deadlock_timeout": "100ms",
}
READY = "database system is ready to accept connections"


class PostgresServer:
    """One server with its own data; keeps its port when it is stopped and started again."""

    def __init__(self, keeper: Keeper, binaries: Binaries, data: Path, port: int) -> None:
        self.port = port
        self._keeper = keeper
        self._binaries = binaries
        self._data = data

    def url(self, database: str = "postgres") -> str:
        """The address of one of its databases, for SQLAlchemy."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Starts it; returns when it takes connections."""
        settings = {**SETTINGS, "port": str(self.port)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [self._binaries["postgres"], "-D", str(self._data), *options]
        self._keeper.start(command, READY, self._binaries.account)

    def stop(self) -> None:
        """Stops it in good order: open transactions are rolled back, connections closed."""
        self._keeper.stop(signal.SIGINT)

    def stop_immediately(self) -> None:
        """Stops it as a crash would: the next start has to recover."""
        self._keeper.stop(signal.SIGQUIT)

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The address of a fresh database, which is dropped at the end."""
        name = f"test_{uuid.uuid4().hex}"
        self._administer("CREATE DATABASE {} TEMPLATE {}", name, template)
        try:
            yield self.url(name)
        finally:
            self._administer("DROP DATABASE {} WITH (FORCE)", name)

    def _administer(self, statement: LiteralString, *names: str) -> None:
        address = f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextmanager
def postgres_instance() -> Iterator[PostgresServer]:
    """A server of one's own, for tests that stop it; skips the test where there is none."""
    directory = private_directory("postgres")
    keeper = Keeper(directory)
    try:
        yield first_start(directory, keeper)
    finally:
        keeper.close()


def first_start(directory: Path, keeper: Keeper) -> PostgresServer:
    binaries = find_binaries(directory)
    try:
        data = create_data(directory, keeper, binaries)
        server = PostgresServer(keeper, binaries, data, free_port())
        server.start()
    except (OSError, KeeperFailed) as failure:
        reason = str(failure).replace(str(directory), "…")
        raise ServerUnavailable("postgres", reason) from failure
    return server


def create_data(directory: Path, keeper: Keeper, binaries: Binaries) -> Path:
    data = directory / "data"
    flags = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    keeper.run([binaries["initdb"], *flags, f"--pgdata={data}"], binaries.account)
    return data
