"""Handing mail to a real SMTP server, and what is made of its answers."""

import socket
import ssl
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword

from shop.mailbox.reading import read
from shop.mailbox.server import MailServer
from shop.notifications.mail import compose
from shop.notifications.mailer import Mailer
from shop.notifications.smtp_settings import SmtpSettings
from todoke import PermanentError, TransientError

RECIPIENT = "hanako@example.com"
RIGHT, WRONG = "open sesame", "open barley"


def a_mail() -> EmailMessage:
    return compose(
        sender="shop@shop.example",
        recipient=RECIPIENT,
        subject="ご注文確認 - 1",
        body="合計金額: ¥4,980\n",
        language="ja",
        key="0192/order-mail",
        written_at=datetime(2026, 2, 18, 12, tzinfo=UTC),
    )


def mailer_for(server: MailServer, **settings: Any) -> Mailer:
    return Mailer(SmtpSettings(host="localhost", port=server.port, **settings))


@pytest.fixture
def server() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    yield server
    server.stop()


def encrypting_server(certificate: tuple[Path, Path], **options: Any) -> MailServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return MailServer(tls_context=context, **options)


async def test_a_mail_arrives_as_it_was_written(server: MailServer) -> None:
    """SH-4"""
    await mailer_for(server).send(a_mail())
    (caught,) = server.mailbox.newest_first()
    letter = read(caught)
    assert caught.recipients == (RECIPIENT,)
    assert letter.subject == "ご注文確認 - 1"
    assert letter.text == "合計金額: ¥4,980\n"


@pytest.mark.parametrize("code", [421, 450, 451, 452, 454])
async def test_a_passing_refusal_is_transient(server: MailServer, code: int) -> None:
    """SH-4, ER-1"""
    server.refuse_with(code)
    with pytest.raises(TransientError) as refused:
        await mailer_for(server).send(a_mail())
    assert refused.value.code == f"SMTP_{code}"


@pytest.mark.parametrize("code", [550, 552, 554])
async def test_a_final_refusal_is_permanent(server: MailServer, code: int) -> None:
    """SH-4, ER-1"""
    server.refuse_with(code)
    with pytest.raises(PermanentError) as refused:
        await mailer_for(server).send(a_mail())
    assert refused.value.code == f"SMTP_{code}"


async def test_an_error_does_not_tell_to_whom_the_mail_was_going(server: MailServer) -> None:
    """SE-2: neither in its text nor in its traceback, though the server quotes the address."""
    server.refuse_with(550)
    with pytest.raises(PermanentError) as refused:
        await mailer_for(server).send(a_mail())
    assert RECIPIENT not in "".join(traceback.format_exception(refused.value))
    assert refused.value.__context__ is None


async def test_a_server_that_is_down_is_transient() -> None:
    """SH-4, ER-1"""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(TransientError) as failed:
        await Mailer(SmtpSettings(host="127.0.0.1", port=port)).send(a_mail())
    assert failed.value.code == "SMTP_UNREACHABLE"


async def test_a_server_that_says_nothing_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    """SH-4, ER-1"""
    monkeypatch.setattr("shop.notifications.mailer._LIMIT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(TransientError) as failed:
            await Mailer(SmtpSettings(host="127.0.0.1", port=port)).send(a_mail())
    assert failed.value.code == "SMTP_TIMEOUT"


async def test_a_server_that_hangs_up_is_transient(server: MailServer) -> None:
    """SH-4, ER-1"""

    def hang_up(_: object) -> None:
        assert server.smtpd is not None
        server.smtpd.transport.abort()

    server.on_mail = hang_up
    with pytest.raises(TransientError) as failed:
        await mailer_for(server).send(a_mail())
    assert failed.value.code == "SMTP_UNREACHABLE"


async def test_with_starttls_the_mail_goes_encrypted(certificate: tuple[Path, Path]) -> None:
    """SH-4, MS-6"""
    server = encrypting_server(certificate, require_starttls=True)
    server.start()
    try:
        await mailer_for(server, starttls=True, ca_file=certificate[0]).send(a_mail())
        assert len(server.mailbox.newest_first()) == 1
    finally:
        server.stop()


async def test_an_unknown_certificate_is_refused(certificate: tuple[Path, Path]) -> None:
    """MS-6"""
    server = encrypting_server(certificate)
    server.start()
    try:
        with pytest.raises(TransientError) as refused:
            await mailer_for(server, starttls=True).send(a_mail())
        assert refused.value.code == "SMTP_TLS"
        assert not server.mailbox.newest_first()
    finally:
        server.stop()


async def test_without_starttls_on_the_server_nothing_is_sent(server: MailServer) -> None:
    """MS-6: no silent fall back to plain text."""
    with pytest.raises(PermanentError) as refused:
        await mailer_for(server, starttls=True).send(a_mail())
    assert refused.value.code == "SMTP_NOT_SUPPORTED"
    assert not server.mailbox.newest_first()


async def test_name_and_password_are_given_to_the_server(certificate: tuple[Path, Path]) -> None:
    """SH-4"""
    seen = []

    def check(*arguments: Any) -> AuthResult:
        login = arguments[-1]
        assert isinstance(login, LoginPassword)
        seen.append((login.login, login.password))
        return AuthResult(success=login.password == RIGHT.encode(), handled=False)

    server = encrypting_server(certificate, authenticator=check, auth_required=True)
    server.start()
    settings = {"starttls": True, "ca_file": certificate[0], "username": "shop"}
    try:
        await mailer_for(server, password=RIGHT, **settings).send(a_mail())
        with pytest.raises(PermanentError) as refused:
            await mailer_for(server, password=WRONG, **settings).send(a_mail())
    finally:
        server.stop()
    assert seen[0] == (b"shop", RIGHT.encode())
    assert set(seen[1:]) == {(b"shop", WRONG.encode())}
    assert refused.value.code == "SMTP_535"
    assert len(server.mailbox.newest_first()) == 1
