"""The mail catcher: takes mail, shows it safely, keeps only so much."""

import smtplib
from collections.abc import Iterator

import httpx
import pytest

from shop.mailbox.mailbox import Mailbox
from shop.mailbox.server import MailServer
from shop.mailbox.web import create_mailbox_web
from shop.testing import serving

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"

BROKEN = [
    b"",
    b"no header at all",
    b"\xff\xfe\x00\x01",
    b"Subject: \xff\xfe\r\n\r\n\x80\x81",
    b"Content-Type: text/plain; charset=unheard-of\r\n\r\nbody",
    b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\n",
    b"Content-Type: multipart/mixed\r\n\r\nno boundary",
    b"Content-Transfer-Encoding: base64\r\n\r\n!!!!",
    b"To: =?utf-8?q?=00?= <a@b\r\nSubject: =?x?y?z?=\r\n\r\n",
    b"Subject: " + b"=?utf-8?q?" + b"a" * 5000 + b"\r\n\r\n",
    b"Message-ID: <\r\nDate: never\r\n\r\n",
    b'Content-Disposition: attachment; filename="../../etc/passwd"\r\n\r\nx',
]


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def web(mailbox: Mailbox) -> Iterator[httpx.Client]:
    with serving(create_mailbox_web(mailbox)) as url, httpx.Client(base_url=url) as client:
        yield client


@pytest.fixture
def server(mailbox: Mailbox) -> Iterator[MailServer]:
    server = MailServer(mailbox)
    server.start()
    yield server
    server.stop()


def caught(mailbox: Mailbox, raw: bytes) -> int:
    return mailbox.put("shop@shop.example", ["hanako@example.com"], raw).id


def test_a_mail_sent_by_smtp_is_in_the_list(server: MailServer, web: httpx.Client) -> None:
    """SH-4"""
    with smtplib.SMTP("127.0.0.1", server.port) as client:
        client.sendmail("a@example.com", ["b@example.com"], b"Subject: tea\r\n\r\nready\r\n")
    (mail,) = web.get("/api/mail").json()
    assert (mail["from"], mail["to"]) == ("a@example.com", ["b@example.com"])
    assert (mail["subject"], mail["text"]) == ("tea", "ready\n")
    assert "tea" in web.get("/").text
    assert "ready" in web.get(f"/mail/{mail['id']}").text


def test_nothing_in_a_mail_becomes_markup(mailbox: Mailbox, web: httpx.Client) -> None:
    """SE-4"""
    raw = "\r\n".join(f"{name}: {HOSTILE}" for name in ("Subject", "From", "To", "Message-ID"))
    body = "\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + HOSTILE
    mail_id = caught(mailbox, (raw + body).encode())
    for path in ("/", f"/mail/{mail_id}"):
        page = web.get(path).text
        assert "<script" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page


def test_the_pages_run_no_script_and_load_nothing_from_elsewhere(web: httpx.Client) -> None:
    """SE-4"""
    policy = web.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("raw", BROKEN)
def test_a_broken_mail_is_shown_all_the_same(
    mailbox: Mailbox, web: httpx.Client, raw: bytes
) -> None:
    """SE-4"""
    mail_id = caught(mailbox, raw)
    assert web.get("/").status_code == 200
    assert web.get(f"/mail/{mail_id}").status_code == 200
    assert len(web.get("/api/mail").json()) == 1


def test_only_the_newest_mails_are_kept() -> None:
    """SH-4"""
    mailbox = Mailbox(most=3)
    for number in range(5):
        caught(mailbox, f"Subject: {number}\r\n\r\n".encode())
    assert [mail.id for mail in mailbox.newest_first()] == [5, 4, 3]


def test_a_mail_that_is_too_large_is_refused(server: MailServer, mailbox: Mailbox) -> None:
    """SE-4"""
    with smtplib.SMTP("127.0.0.1", server.port) as client:
        with pytest.raises(smtplib.SMTPResponseException) as refused:
            client.sendmail("a@example.com", ["b@example.com"], b"x" * 2_000_000)
        assert refused.value.smtp_code == 552
    assert not mailbox.newest_first()


def test_refusals_are_given_as_often_as_asked(server: MailServer, mailbox: Mailbox) -> None:
    """SH-4"""
    server.refuse_with(451, times=2)
    codes = []
    for _ in range(3):
        with smtplib.SMTP("127.0.0.1", server.port) as client:
            try:
                client.sendmail("a@example.com", ["b@example.com"], b"Subject: tea\r\n\r\n")
                codes.append(250)
            except smtplib.SMTPDataError as refused:
                codes.append(refused.smtp_code)
    assert codes == [451, 451, 250]
    assert server.refused == 2
    assert len(mailbox.newest_first()) == 1


def test_the_list_can_be_emptied(mailbox: Mailbox, web: httpx.Client) -> None:
    """SH-4"""
    caught(mailbox, b"Subject: tea\r\n\r\n")
    assert web.delete("/api/mail").status_code == 204
    assert web.get("/api/mail").json() == []


def test_a_mail_that_is_not_there_is_not_found(web: httpx.Client) -> None:
    """SH-4"""
    assert web.get("/mail/7").status_code == 404


@pytest.mark.parametrize(
    ("path", "accepts", "word"),
    [
        ("/", "ja,en;q=0.8", "メール"),
        ("/", "en-GB,ja;q=0.5", "Mail"),
        ("/", "fr", "Mail"),
        ("/?lang=ja", "en", "メール"),
        ("/?lang=en", "ja", "Mail"),
    ],
)
def test_the_page_speaks_the_readers_language(
    web: httpx.Client, path: str, accepts: str, word: str
) -> None:
    """SH-4"""
    assert f"<h1>{word}</h1>" in web.get(path, headers={"Accept-Language": accepts}).text


def test_a_foreign_host_name_is_not_answered(web: httpx.Client) -> None:
    """SE-4: a web site that points its own name here cannot read the mails."""
    assert web.get("/api/mail", headers={"Host": "evil.example"}).status_code == 400
