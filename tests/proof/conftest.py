from __future__ import annotations

from collections.abc import Iterator

import pytest

from shop.mailbox.server import MailServer


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    yield server
    server.stop()
