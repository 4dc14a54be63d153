"""`StrictRoute`: what is no strict JSON is refused with its reason, and never breaks anything."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from fastapi import APIRouter, Body, FastAPI
from httpx import AsyncClient, Response
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.web.client import running
from todoke.fastapi import StrictRoute

JSON = {"Content-Type": "application/json"}


class Order(BaseModel):
    article: str
    quantity: int = 1


class Small(StrictRoute):
    max_bytes = 40


def web_of() -> FastAPI:
    web = FastAPI()
    strict, small = APIRouter(route_class=StrictRoute), APIRouter(route_class=Small)

    @strict.post("/orders")
    async def place(order: Order) -> Order:
        return order

    @strict.post("/anything")
    async def anything(data: object = Body()) -> object:
        return data

    @strict.post("/text")
    async def text(article: bytes = Body(media_type="text/plain")) -> str:
        return article.decode()

    @strict.post("/nothing")
    async def nothing() -> str:
        return "ok"

    @small.post("/small")
    async def little(order: Order) -> Order:
        return order

    web.include_router(strict)
    web.include_router(small)
    return web


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    async with running(web_of()) as client:
        yield client


async def send(client: AsyncClient, body: bytes, path: str = "/orders", **headers: str) -> Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.post(path, content=body, headers={**JSON, **given})


async def test_what_is_json_is_read_as_ever(client: AsyncClient) -> None:
    """ID-4"""
    answer = await send(client, b'{"article": "sencha", "quantity": 2}')
    assert (answer.status_code, answer.json()) == (200, {"article": "sencha", "quantity": 2})


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"article": "a", "article": "b"}', "'article' stands twice"),
        (b'{"article": "a", "quantity": NaN}', "NaN"),
        (b'{"article": "a", "quantity": Infinity}', "Infinity"),
        (b'{"article": "a", "quantity": 1e999}', "Out of range"),
        (b'{"article": "\\ud800"}', "surrogates"),
        (b'{"article": "\xff"}', "no UTF-8"),
        ('{"article": "a"}'.encode("utf-16"), "no UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"[" * 33 + b"]" * 33, "nested deeper than 32"),
        (b"[" * 100_000, "nested deeper than 32"),
        (b'{"article": "a", "quantity": ' + b"9" * 5_000 + b"}", "digits"),
        (b"{", "Expecting"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_what_is_no_strict_json_is_refused_with_the_reason(
    client: AsyncClient, body: bytes, reason: str
) -> None:
    """ID-4: as a problem, on a route that takes anything, too."""
    for path in ("/orders", "/anything"):
        answer = await send(client, body, path)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        told = answer.json()
        assert told["type"] == "urn:todoke:problem:malformed-body"
        assert (told["status"], told["code"]) == (400, "MALFORMED_BODY")
        assert reason in told["detail"]


async def test_another_charset_is_refused(client: AsyncClient) -> None:
    """ID-4"""
    body = '{"article": "煎茶"}'.encode("shift_jis")
    answer = await send(client, body, Content_Type="application/json; charset=shift_jis")
    assert answer.status_code == 400
    assert "not shift_jis" in answer.json()["detail"]


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(client: AsyncClient) -> None:
    """ID-4: with 413, and the limit."""
    assert (await send(client, b'{"article": "sencha"}', "/small")).status_code == 200
    answer = await send(client, b'{"article": "%s"}' % (b"a" * 40), "/small")
    assert (answer.status_code, answer.json()["code"]) == (413, "BODY_TOO_LARGE")
    assert "40 bytes" in answer.json()["detail"]


async def test_a_field_that_is_wrong_is_named_by_fastapi(client: AsyncClient) -> None:
    """ID-4: strict reading comes before validation and does not replace it."""
    answer = await send(client, b'{"quantity": "many"}')
    assert answer.status_code == 422
    assert [one["loc"][-1] for one in answer.json()["detail"]] == ["article", "quantity"]


async def test_routes_without_a_json_body_are_left_alone(client: AsyncClient) -> None:
    """ID-4"""
    assert (await send(client, b"{", "/text", Content_Type="text/plain")).json() == "{"
    assert (await send(client, b"{", "/nothing")).json() == "ok"


@given(body=st.binary(max_size=60) | st.text(alphabet='{}[]",:0eE+-.\\u d8NaN', max_size=60))
async def test_no_body_breaks_a_strict_route(body: bytes | str) -> None:
    """ID-4: and what is taken, Python reads as the same value."""
    async with running(web_of()) as client:
        sent = body.encode() if isinstance(body, str) else body
        answer = await send(client, sent, "/anything")
        assert answer.status_code in (200, 400, 422)
        if answer.status_code == 200:
            assert answer.json() == json.loads(sent)
