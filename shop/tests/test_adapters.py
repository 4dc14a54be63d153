"""The adapter that speaks HTTP, against a real paper broker and against worse."""

import asyncio
import re
import socket
import ssl
import threading
import warnings
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Self

import pytest

from shop.brokerage.adapter import Adapter, AdapterFailed, AdapterRefused
from shop.brokerage.broker_settings import BrokerSettings
from shop.brokerage.conformance import AdapterConformance, send
from shop.brokerage.http_adapter import HttpAdapter
from shop.brokerage.http_answer import Answer, receipt_of
from shop.paper_broker.running import PaperBroker
from todoke import Settings

TOKEN = "open-sesame-1234"  # noqa: S105


class PaperCounterpart:
    def __init__(self, broker: PaperBroker) -> None:
        self._broker = broker

    def taken(self) -> list[str]:
        return [one["order"]["clientOrderId"] for one in self._broker.orders()]

    def refuse(self, code: str) -> None:
        self._broker.script({"do": "refuse", "code": code, "times": 1})

    def fail(self) -> None:
        self._broker.script({"do": "fail", "status": 500, "times": 1})

    def lose_the_answer(self) -> None:
        self._broker.script({"do": "take-and-hang", "times": 1})


class TestHttpAdapter(AdapterConformance):
    @pytest.fixture
    def counterpart(self, broker: PaperBroker) -> PaperCounterpart:
        return PaperCounterpart(broker)

    @pytest.fixture
    async def adapter(self, broker: PaperBroker) -> AsyncIterator[Adapter]:
        async with HttpAdapter(BrokerSettings(url=broker.url, read_timeout=0.5)) as http:
            yield http


@pytest.fixture
async def http(broker: PaperBroker) -> AsyncIterator[HttpAdapter]:
    settings = BrokerSettings(url=broker.url)
    async with HttpAdapter(settings) as found:
        yield found


class Stranger:
    """A server that says one thing to whoever connects, whatever it hears, and hangs up.

    With a pause it says it byte by byte.
    """

    def __init__(
        self, answer: bytes, tls: ssl.SSLContext | None = None, pause: float | None = None
    ) -> None:
        self._answer, self._tls, self._pause = answer, tls, pause
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = int(self._listener.getsockname()[1])
        self.heard = b""

    def _serve(self) -> None:
        line, _ = self._listener.accept()
        with suppress(OSError), self._over(line) as spoken:
            while not _is_whole(self.heard) and (more := spoken.recv(65536)):
                self.heard += more
            self._say(spoken)

    def _say(self, spoken: socket.socket) -> None:
        if self._pause is None:
            return spoken.sendall(self._answer)
        for number in range(len(self._answer)):
            spoken.sendall(self._answer[number : number + 1])
            threading.Event().wait(self._pause)
        return None

    def _over(self, line: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(line, server_side=True) if self._tls else line

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        self._listener.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def _is_whole(request: bytes) -> bool:
    head, blank, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    return bool(blank and length and len(body) == int(length[1]))


async def failing(url: str, **settings: float) -> AdapterFailed:
    async with HttpAdapter(BrokerSettings(url=url, **settings)) as http:  # type: ignore[arg-type]
        with pytest.raises(AdapterFailed) as failed:
            await send(http)
    return failed.value


async def test_four_orders_share_few_connections_and_all_arrive(
    http: HttpAdapter, broker: PaperBroker
) -> None:
    """ID-6"""
    await asyncio.gather(*(send(http, f"key-{number}") for number in range(4)))
    assert len(broker.orders()) == 4


async def test_what_the_broker_is_sent_is_the_order_and_the_clients_name_for_it(
    http: HttpAdapter, broker: PaperBroker
) -> None:
    """ID-7: the key goes into the header, and the client's key beside the order."""
    await send(http)
    (taken,) = broker.orders()
    assert taken["key"] == "key-1"
    assert taken["order"]["clientOrderId"] == "client-key-1"
    assert (taken["order"]["quantity"], taken["order"]["limitPrice"]) == ("100", "2512.5")
    assert "idempotencyKey" not in taken["order"]


async def test_a_broker_that_is_not_there_is_named_as_such() -> None:
    """ID-5"""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert (await failing(url)).code == "BROKER_UNREACHABLE"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", "BROKER_LOST"),
        (b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{", "BROKER_LOST"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "BROKER_LOST"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "BROKER_UNREADABLE"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull", "BROKER_UNREADABLE"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "BROKER_UNREADABLE"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
            "BROKER_UNREADABLE",
        ),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n", "BROKER_302"),
    ],
    ids=range(8),
)
async def test_an_answer_nobody_can_rely_on_says_nothing_certain(answer: bytes, code: str) -> None:
    """ID-5: so the order is sent again, with the same key."""
    with Stranger(answer) as stranger:
        assert (await failing(stranger.url)).code == code


TAKEN = (
    b'{"brokerOrderId": "b-1", "clientOrderId": "client-key-1", "takenAt": "2026-01-05T00:00:00Z"}'
)
CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%b" % (len(TAKEN), TAKEN)


async def test_the_token_goes_into_a_header_and_nowhere_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SE-2"""
    caplog.set_level("DEBUG")
    with Stranger(CREATED) as stranger:
        settings = BrokerSettings(url=f"{stranger.url}/v2", token=TOKEN)
        async with HttpAdapter(settings) as http:
            await send(http)
    assert stranger.heard.startswith(b"POST /v2/orders ")
    assert f"Authorization: Bearer {TOKEN}".lower() in stranger.heard.decode().lower()
    assert stranger.heard.decode().count(TOKEN) == 1
    assert TOKEN not in caplog.text


async def test_an_answer_that_drips_in_is_given_up_when_it_takes_too_long_over_all() -> None:
    """ID-5: although no single byte lets wait for long."""
    with Stranger(CREATED, pause=0.02) as stranger:
        failed = await failing(stranger.url, read_timeout=5.0, timeout=0.3)
    assert failed.code == "BROKER_TIMEOUT"


async def test_an_answer_that_is_too_large_is_not_read_to_its_end() -> None:
    """SE-4: although it begins with a receipt."""
    padded = TAKEN + b" " * 1_000_000
    answer = b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%b" % (len(padded), padded)
    with Stranger(answer) as stranger:
        assert (await failing(stranger.url)).code == "BROKER_UNREADABLE"


def encrypting(certificate: tuple[Path, Path], newest: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = newest
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    return context


async def test_over_tls_the_brokers_certificate_is_checked_by_the_given_authority(
    certificate: tuple[Path, Path],
) -> None:
    """SE-3"""
    with Stranger(CREATED, encrypting(certificate, ssl.TLSVersion.TLSv1_3)) as stranger:
        url = f"https://localhost:{stranger.port}"
        async with HttpAdapter(BrokerSettings(url=url, ca_file=certificate[0])) as http:
            receipt = await send(http)
    assert receipt.broker_order_id == "b-1"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_certificate_that_is_unknown_or_of_another_host_is_not_trusted(
    certificate: tuple[Path, Path], host: str
) -> None:
    """SE-3"""
    known = certificate[0] if host == "127.0.0.1" else None
    with Stranger(CREATED, encrypting(certificate, ssl.TLSVersion.TLSv1_3)) as stranger:
        settings = BrokerSettings(url=f"https://{host}:{stranger.port}", ca_file=known)
        async with HttpAdapter(settings) as http:
            with pytest.raises(AdapterFailed) as failed:
                await send(http)
    assert failed.value.code == "BROKER_TLS"
    assert stranger.heard == b"", "the order stays here"


async def test_tls_older_than_1_2_is_refused(certificate: tuple[Path, Path]) -> None:
    """SE-3"""
    with Stranger(CREATED, encrypting(certificate, ssl.TLSVersion.TLSv1_1)) as stranger:
        settings = BrokerSettings(url=f"https://localhost:{stranger.port}", ca_file=certificate[0])
        async with HttpAdapter(settings) as http:
            with pytest.raises(AdapterFailed) as failed:
                await send(http)
    assert failed.value.code == "BROKER_TLS"


RECEIPT = b'{"brokerOrderId": "b-1", "clientOrderId": "c-1", "takenAt": "2026-01-05T00:00:00Z"}'


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, b"", "BROKER_400"),
        (403, b'{"code": "ACCOUNT_CLOSED"}', "ACCOUNT_CLOSED"),
        (404, b"<html>", "BROKER_404"),
        (409, b'{"code": "KEY_REUSED"}', "KEY_REUSED"),
        (422, b'{"code": "MARKET_CLOSED"}', "MARKET_CLOSED"),
        (422, b'{"code": "x\\n<script>"}', "BROKER_422"),
        (422, b'{"code": ["A"]}', "BROKER_422"),
        (422, b'{"code": "A", "code": "B"}', "BROKER_422"),
        (422, b'{"code": "' + b"A" * 65 + b'"}', "BROKER_422"),
        (422, b"[" * 10_000, "BROKER_422"),
    ],
)
def test_a_definite_no_is_a_refusal_with_a_reason_code(status: int, body: bytes, code: str) -> None:
    """ID-5"""
    with pytest.raises(AdapterRefused) as refused:
        receipt_of(Answer(status, body), "c-1")
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, b"", "BROKER_401"),
        (408, b"", "BROKER_408"),
        (409, b"", "BROKER_409"),
        (409, b'{"code": "IN_PROGRESS"}', "IN_PROGRESS"),
        (429, b"", "BROKER_429"),
        (500, b'{"code": "DATABASE_DOWN"}', "DATABASE_DOWN"),
        (503, b"", "BROKER_503"),
        (200, RECEIPT.replace(b"c-1", b"c-2"), "BROKER_UNREADABLE"),
        (200, RECEIPT.replace(b"b-1", b""), "BROKER_UNREADABLE"),
        (200, RECEIPT.replace(b"2026", b"NaN"), "BROKER_UNREADABLE"),
    ],
)
def test_whatever_else_may_pass_is_a_failure(status: int, body: bytes, code: str) -> None:
    """ID-5"""
    with pytest.raises(AdapterFailed) as failed:
        receipt_of(Answer(status, body), "c-1")
    assert failed.value.code == code


@pytest.mark.parametrize(
    ("asked", "after"),
    [
        ("7", timedelta(seconds=7)),
        ("0", timedelta(seconds=1)),
        ("999999999", timedelta(minutes=10)),
        ("-5", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_broker_may_ask_for_patience_within_reason(asked: str, after: timedelta | None) -> None:
    """ID-6"""
    with pytest.raises(AdapterFailed) as failed:
        receipt_of(Answer(429, b"", {"retry-after": asked}), "c-1")
    assert failed.value.after == after


def test_a_broker_may_ask_for_patience_until_a_date() -> None:
    """ID-6"""
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=90))
    with pytest.raises(AdapterFailed) as failed:
        receipt_of(Answer(503, b"", {"retry-after": then}), "c-1")
    assert timedelta(seconds=80) < failed.value.after < timedelta(seconds=91)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("told", "word"),
    [
        ({"url": "ftp://broker.example"}, "no address"),
        ({"url": "broker.example"}, "no address"),
        ({"url": "https://me:pw@broker.example"}, "broker.token"),
        ({"url": "http://broker.example"}, "plain http"),
        ({"url": "http://192.0.2.7:8030"}, "plain http"),
        ({"token": "a\nb"}, "broker.token"),
        ({"timeout": "61"}, "broker.timeout"),
        ({"timeout": "nan"}, "broker.timeout"),
        ({"read_timeout": "-1"}, "broker.read_timeout"),
        ({"connect_timeout": "soon"}, "broker.connect_timeout"),
        ({"plain_http": "perhaps"}, "broker.plain_http"),
    ],
)
def test_settings_that_would_hurt_are_refused(told: dict[str, str], word: str) -> None:
    """SE-3"""
    with pytest.raises(ValueError, match=word) as refused:
        BrokerSettings.read(Settings({"broker": told}, environment={}))
    assert "pw" not in str(refused.value)


def test_settings_come_from_todokes_own_or_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SH-12"""
    monkeypatch.setenv("BROKER_TOKEN", "from outside")
    monkeypatch.setenv("BROKER_TIMEOUT", "7.5s")
    told = {"broker": {"url": "https://broker.example/v2", "ca_file": str(tmp_path / "ca.pem")}}
    found = BrokerSettings.read(Settings(told, environment={}))
    assert (found.url, found.token, found.timeout) == (
        "https://broker.example/v2",
        "from outside",
        7.5,
    )
    assert found.ca_file == tmp_path / "ca.pem"
    assert "from outside" not in repr(found)


def test_plain_http_to_another_machine_must_be_asked_for() -> None:
    """SE-3"""
    told = {"broker": {"url": "http://broker.example", "plain_http": "true"}}
    assert BrokerSettings.read(Settings(told, environment={})).plain_http
