from collections.abc import Iterator

import pytest

from shop.mailbox.server import MailServer
from shop.testing import Sandbox, sandbox
from todoke.testing import Clock


@pytest.fixture(scope="module")
def module_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One shop on SQLite for all tests of a module."""
    server = MailServer()
    server.start()
    url = f"sqlite:///{tmp_path_factory.mktemp('shop') / 'shop.db'}"
    with sandbox(url, server, Clock()) as found:
        yield found
    server.stop()


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shop(migrated_url: str, mail_server: MailServer, clock: Clock) -> Iterator[Sandbox]:
    """A shop on a fresh database, once of every kind."""
    with sandbox(migrated_url, mail_server, clock) as found:
        yield found


@pytest.fixture
def small_shop(sqlite_database: str, mail_server: MailServer, clock: Clock) -> Iterator[Sandbox]:
    """A shop on SQLite, for what does not depend on the database."""
    with sandbox(sqlite_database, mail_server, clock) as found:
        yield found
