"""Requests with an idempotency key, in FastAPI: done once, and answered alike ever after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from httpx import AsyncClient, Response

from tests.web.client import running
from tests.web.orders import entries, placed, published, shop, web_of
from todoke import Todoke

KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"
SENCHA = {"article": "sencha", "quantity": 2}
WAYS = ["", "/plainly"]


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    with shop(migrated_url) as app:
        yield app


@pytest.fixture
async def client(app: Todoke) -> AsyncIterator[AsyncClient]:
    async with running(web_of(app)) as client:
        yield client


async def post(
    client: AsyncClient,
    path: str,
    body: object = SENCHA,
    key: str | None = KEY,
    caller: str = "",
) -> Response:
    headers = {"X-Caller": caller}
    if key is not None:
        headers["Idempotency-Key"] = key
    return await client.post(path, json=body, headers=headers)


def told(answer: Response) -> tuple[int, str, str]:
    """Status, problem type, code."""
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["title"]
    assert document["detail"].endswith(".")
    return answer.status_code, document["type"].rpartition(":")[2], document["code"]


# --- a message settles -----------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
async def test_a_repeat_gets_the_first_ones_outcome_and_nothing_is_done_twice(
    app: Todoke, client: AsyncClient, way: str
) -> None:
    """ID-2: 202, then 200: accepted while it is not settled, then with the result."""
    path = f"/do/order{way}"
    first = await post(client, path)
    assert (first.status_code, first.json()) == (202, {"key": KEY})

    waiting = await post(client, path)
    assert (waiting.status_code, waiting.json()["status"]) == (200, "accepted")
    assert (waiting.json()["result"], waiting.json()["error"]) == (None, None)
    assert waiting.headers["Retry-After"] == "5"
    assert "Idempotency-Replayed" not in waiting.headers

    await app.adrain()
    settled = await post(client, path)
    assert (settled.status_code, settled.headers["Idempotency-Replayed"]) == (200, "true")
    document = settled.json()
    assert (document["key"], document["status"]) == (KEY, "succeeded")
    assert (document["result"], document["error"]) == ({"sent": "sencha"}, None)
    assert document["acceptedAt"] <= document["settledAt"]
    assert (placed(app), published(app)) == (1, ["send-order"])


async def test_a_send_that_died_is_told_with_its_code(app: Todoke, client: AsyncClient) -> None:
    """ID-2, ID-5"""
    body = {"article": "unsendable"}
    assert (await post(client, "/do/order", body)).status_code == 202
    await app.adrain()
    answer = await post(client, "/do/order", body)
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    assert answer.json()["error"]["code"] == "NO_SUCH_ARTICLE"
    assert answer.headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("way", WAYS)
async def test_another_body_under_the_same_key_is_refused_and_shown_nothing(
    app: Todoke, client: AsyncClient, way: str
) -> None:
    """ID-2: 409, before and after the first is settled."""
    path = f"/do/order{way}"
    await post(client, path)
    other = {"article": "matcha"}
    assert told(await post(client, path, other)) == (409, "key-reused", "KEY_REUSED")
    await app.adrain()
    answer = await post(client, path, other)
    assert told(answer) == (409, "key-reused", "KEY_REUSED")
    assert "sencha" not in answer.text
    assert (placed(app), published(app)) == (1, ["send-order"])


async def test_the_same_request_in_other_words_is_the_same(
    app: Todoke, client: AsyncClient
) -> None:
    """ID-2, ID-4: what is digested is the validated model."""
    await post(client, "/do/order")
    again = {"quantity": 2, "article": "sencha", "price": "1.50"}
    assert (await post(client, "/do/order", again)).json()["status"] == "accepted"
    assert (await post(client, "/do/order", key=f'"{KEY}"')).json()["status"] == "accepted"


@pytest.mark.parametrize("way", WAYS)
async def test_a_request_that_was_rolled_back_leaves_its_key_free(
    app: Todoke, client: AsyncClient, way: str
) -> None:
    """ID-2: accept and order are one transaction, which the endpoint commits itself."""
    path = f"/do/order{way}"
    assert (await post(client, path, {"article": "unknown"})).status_code == 404
    assert (placed(app), published(app), entries(app)) == (0, [], [])
    assert (await post(client, path)).status_code == 202


async def test_equal_requests_at_the_same_instant_are_one(app: Todoke, client: AsyncClient) -> None:
    """ID-3: one is accepted, the others get its outcome."""
    answers = await asyncio.gather(*(post(client, "/do/order") for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [200] * 11 + [202]
    assert (placed(app), published(app)) == (1, ["send-order"])


# --- keys ------------------------------------------------------------------------------------


async def test_a_key_may_stand_in_the_body(app: Todoke, client: AsyncClient) -> None:
    """ID-2: in a field of it, if the header is not there; both must agree."""
    body = {**SENCHA, "client_order_id": "order-1"}
    first = await post(client, "/do/order", body, key=None)
    assert (first.status_code, first.json()) == (202, {"key": "order-1"})
    assert (await post(client, "/do/order", body, key="order-1")).json()["status"] == "accepted"
    assert told(await post(client, "/do/order", body))[:2] == (400, "different-keys")


async def test_a_request_without_a_key_is_told_to_send_one(client: AsyncClient) -> None:
    """ID-2"""
    answer = await post(client, "/do/order", key=None)
    assert told(answer) == (400, "missing-key", "MISSING_KEY")
    assert "Idempotency-Key" in answer.json()["detail"]
    assert "client_order_id" in answer.json()["detail"]


@pytest.mark.parametrize("key", ["k" * 256, '""', '"open', "clé"])
async def test_what_cannot_be_a_key_is_refused(app: Todoke, client: AsyncClient, key: str) -> None:
    """ID-2"""
    headers = {b"Idempotency-Key": key.encode()}
    answer = await client.post("/do/order", json=SENCHA, headers=headers)
    assert told(answer) == (400, "invalid-key", "INVALID_KEY")
    assert published(app) == []


async def test_a_request_that_has_no_digest_is_refused(app: Todoke, client: AsyncClient) -> None:
    """ID-1: whole numbers beyond 2**53 are not the same number everywhere."""
    answer = await post(client, "/do/order", {"article": "sencha", "quantity": 2**53 + 1})
    assert told(answer) == (422, "undigestible", "UNDIGESTIBLE")
    assert published(app) == []


async def test_the_same_key_of_another_caller_is_another_one(
    app: Todoke, client: AsyncClient
) -> None:
    """ID-1: nobody gets, or blocks, what somebody else asked for."""
    assert (await post(client, "/do/order", caller="hanako")).status_code == 202
    other = await post(client, "/do/order", {"article": "matcha"}, caller="mika")
    assert other.status_code == 202
    assert {(one.caller, one.operation) for one in entries(app)} == {
        ("hanako", "POST /do/order"),
        ("mika", "POST /do/order"),
    }


# --- answered at once ------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
async def test_an_answer_is_repeated_byte_for_byte(
    app: Todoke, client: AsyncClient, way: str
) -> None:
    """ID-2, ID-8"""
    path = f"/orders{way}"
    first, second = await post(client, path), await post(client, path)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert first.headers["content-type"] == second.headers["content-type"] == "application/json"
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert placed(app) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("article", "status", "code", "events"),
    [("unknown", 404, "HTTP_404", []), ("sold out", 422, "SOLD_OUT", ["order-refused"])],
)
async def test_a_refusal_is_the_outcome_and_undoes_what_came_before_it(
    app: Todoke,
    client: AsyncClient,
    way: str,
    article: str,
    status: int,
    code: str,
    events: list[str],
) -> None:
    """ID-2: all definite answers of a key are equal; a BusinessError's event is published."""
    path, body = f"/orders{way}", {"article": article}
    first, second = await post(client, path, body), await post(client, path, body)
    assert (first.status_code, second.status_code) == (status, status)
    assert first.content == second.content
    assert first.headers["content-type"] == second.headers["content-type"]
    assert (placed(app), published(app)) == (0, events)
    (entry,) = entries(app)
    assert (entry.state, entry.error_code) == ("failed", code)


@pytest.mark.parametrize("way", WAYS)
async def test_a_failure_that_nobody_expected_leaves_the_key_free(
    app: Todoke, client: AsyncClient, way: str
) -> None:
    """ID-2: it may go well the next time."""
    with pytest.raises(RuntimeError, match="on fire"):
        await post(client, f"/orders{way}", {"article": "broken"})
    assert (placed(app), entries(app)) == (0, [])
    assert (await post(client, f"/orders{way}")).status_code == 201


async def test_equal_requests_at_the_same_instant_get_one_answer(
    app: Todoke, client: AsyncClient
) -> None:
    """ID-3"""
    ways = [f"/orders{way}" for way in WAYS]
    for path in ways:
        answers = await asyncio.gather(*(post(client, path) for _ in range(12)))
        assert {(answer.status_code, answer.content) for answer in answers} == {
            (201, b'{"article":"sencha","price":"1.50"}')
        }
    assert placed(app) == len(ways)
