"""A broker that speaks HTTP: `POST /orders` with an Idempotency-Key."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

import httpx

from shop.brokerage.adapter import Adapter, AdapterFailed, Receipt
from shop.brokerage.broker_settings import BrokerSettings
from shop.brokerage.http_answer import Answer, receipt_of
from shop.brokerage.model import OrderRequest

_LARGEST_ANSWER = 64 * 1024
_CONNECTIONS = httpx.Limits(max_connections=16, max_keepalive_connections=8, keepalive_expiry=30)


class HttpAdapter(Adapter):
    """Keeps its connections; follows no redirect, asks no proxy, trusts no answer's size."""

    name = "http"

    def __init__(self, settings: BrokerSettings) -> None:
        self._limit = settings.timeout
        self._client = httpx.AsyncClient(
            base_url=settings.url,
            headers=_headers(settings.token),
            verify=_tls(settings),
            timeout=httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout),
            limits=_CONNECTIONS,
            follow_redirects=False,
            trust_env=False,
        )

    async def send(self, order: OrderRequest, *, key: str, client_order_id: str) -> Receipt:
        body = order.model_dump(mode="json") | {"clientOrderId": client_order_id}
        try:
            async with asyncio.timeout(self._limit):
                answer = await self._post(body, key)
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            failed = _failure(error)
        else:
            return receipt_of(answer, client_order_id)
        # Raised here, not in the clause above: what a library says may hold what was sent.
        raise failed

    async def _post(self, body: dict[str, object], key: str) -> Answer:
        headers = {"Idempotency-Key": key}
        async with self._client.stream("POST", "/orders", json=body, headers=headers) as response:
            content = b"".join([chunk async for chunk in _bounded(response)])
            return Answer(response.status_code, content, response.headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._client.aclose()


async def _bounded(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body as it came over the line: nothing is unpacked, so nothing can swell."""
    total = 0
    async for chunk in response.aiter_raw():
        total += len(chunk)
        if total > _LARGEST_ANSWER:
            raise AdapterFailed("the broker's answer is too large", code="BROKER_UNREADABLE")
        yield chunk


def _failure(error: Exception) -> AdapterFailed:
    match error:
        case TimeoutError() | httpx.TimeoutException():
            return AdapterFailed("the broker did not answer in time", code="BROKER_TIMEOUT")
        case httpx.ConnectError() if _is_about_trust(error):
            return AdapterFailed("the broker's certificate is not trusted", code="BROKER_TLS")
        case httpx.ConnectError():
            return AdapterFailed("the broker was not reached", code="BROKER_UNREACHABLE")
        case _:
            return AdapterFailed("the connection to the broker was lost", code="BROKER_LOST")


def _is_about_trust(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _headers(token: str | None) -> dict[str, str]:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    return headers | {"Authorization": f"Bearer {token}"} if token else headers


def _tls(settings: BrokerSettings) -> ssl.SSLContext | bool:
    if not settings.url.startswith("https:"):
        return False
    context = ssl.create_default_context(cafile=settings.ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
