import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.sftp_server import SftpServer
from tests.servers.sshd import Sshd

from shop.mailbox.server import MailServer
from shop.paper_broker.running import PaperBroker
from shop.shipping.transfer.conformance import CONTENT, written
from shop.shipping.transfer.sftp_settings import SftpSettings
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
def small_shop(sqlite_copy: str, mail_server: MailServer, clock: Clock) -> Iterator[Sandbox]:
    """A shop on SQLite, for what does not depend on the database."""
    with sandbox(sqlite_copy, mail_server, clock) as found:
        yield found


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[PaperBroker]:
    """A paper broker in a process of its own."""
    with PaperBroker(tmp_path) as found:
        yield found


@pytest.fixture
def desk(
    migrated_url: str, mail_server: MailServer, clock: Clock, broker: PaperBroker
) -> Iterator[Sandbox]:
    """A shop with a broker behind it, on a fresh database, once of every kind."""
    with sandbox(migrated_url, mail_server, clock, broker.url) as found:
        yield found


@pytest.fixture
def small_desk(
    sqlite_copy: str, mail_server: MailServer, clock: Clock, broker: PaperBroker
) -> Iterator[Sandbox]:
    """The same on SQLite, for what does not depend on the database."""
    with sandbox(sqlite_copy, mail_server, clock, broker.url) as found:
        yield found


@pytest.fixture
def sftp(tmp_path: Path) -> Iterator[SftpServer]:
    """An SFTP server with faults on demand."""
    with SftpServer(tmp_path / "remote") as running:
        yield running


@pytest.fixture
def openssh(sshd_server: Sshd) -> SftpSettings:
    """A folder of its own on a real OpenSSH server."""
    return SftpSettings(
        host=sshd_server.host,
        port=sshd_server.port,
        username=sshd_server.username,
        private_key=sshd_server.client_key_file,
        host_key=sshd_server.host_key,
        folder=str(sshd_server.folder(uuid.uuid4().hex)),
        timeout=5.0,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file to send."""
    return written(tmp_path, CONTENT)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    try:
        subprocess.run(
            [*command.split(), *name, "-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return certificate, key
