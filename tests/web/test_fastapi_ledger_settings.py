"""How requests with a key can be set up in FastAPI, and what is said about a wrong set-up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import pytest
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from httpx import AsyncClient
from starlette.responses import Response

from tests.web.client import running
from tests.web.orders import Order, SendOrder, entries, orders, placed, published, shop, web_of
from tests.web.test_fastapi_ledger import KEY, SENCHA, post, told
from todoke import Todoke
from todoke.errors import InvalidOption, TodokeError
from todoke.fastapi import Once, idempotent, install, outcome_of
from todoke.testing import FaultyLine


@asynccontextmanager
async def asking(url: str, **settings: object) -> AsyncIterator[tuple[Todoke, AsyncClient]]:
    with shop(url, **settings) as app:
        async with running(web_of(app)) as client:
            yield app, client


async def test_who_follows_the_draft_answers_409_while_it_is_in_progress(sqlite_copy: str) -> None:
    """ID-2: `ledger.conflict_status = 422`"""
    async with asking(sqlite_copy, ledger__conflict_status=422) as (app, client):
        await post(client, "/do/order")
        waiting = await post(client, "/do/order")
        assert told(waiting) == (409, "in-progress", "IN_PROGRESS")
        assert waiting.headers["Retry-After"] == "5"
        other = await post(client, "/do/order", {"article": "matcha"})
        assert told(other) == (422, "key-reused", "KEY_REUSED")
        await app.adrain()
        assert (await post(client, "/do/order")).json()["status"] == "succeeded"


async def test_with_store_success_a_refusal_leaves_the_key_free(sqlite_copy: str) -> None:
    """ID-2: `ledger.store = "success"`"""
    async with asking(sqlite_copy, ledger__store="success") as (app, client):
        assert (await post(client, "/orders", {"article": "unknown"})).status_code == 404
        assert entries(app) == []
        assert (await post(client, "/orders")).status_code == 201
        assert (await post(client, "/orders")).headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("way", ["", "/plainly"])
async def test_with_store_all_every_failure_is_the_outcome(
    sqlite_copy: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """ID-2: `ledger.store = "all"`; the caller learns nothing of what went wrong, the log does"""
    async with asking(sqlite_copy, ledger__store="all") as (app, client):
        broken = {"article": "broken"}
        first = await post(client, f"/orders{way}", broken)
        second = await post(client, f"/orders{way}", broken)
        assert told(first) == told(second) == (500, "failed", "FAILED")
        assert first.content == second.content
        assert "fire" not in first.text
        (entry,) = entries(app)
        assert (entry.state, entry.error_message) == ("failed", "RuntimeError")
        assert placed(app) == 0
    assert "the shop is on fire" in caplog.text


async def test_a_block_without_an_outcome_is_refused(sqlite_copy: str) -> None:
    """ID-2: its repeats would wait for ever; a message that was taken back is none"""
    with shop(sqlite_copy) as app:
        web = web_of(app)

        @web.post("/forgetful")
        async def forget(order: Order, once: Annotated[Once, Depends(idempotent(app))]) -> None:
            async with once.begin(order) as session:
                await session.execute(orders.insert().values(article=order.article))
                inner = await session.begin_nested()
                event = SendOrder(key=once.key, article=order.article)
                app.publish(session, event, settles=once.entry)
                await inner.rollback()

        async with running(web) as client:
            with pytest.raises(TodokeError, match=r"once\.answer.*settles=once\.entry"):
                await post(client, "/forgetful")
        assert (placed(app), entries(app)) == (0, [])


async def test_a_block_may_leave_its_outcome_to_a_message(migrated_url: str) -> None:
    """ID-2"""
    with shop(migrated_url) as app:
        web = web_of(app)

        @web.post("/later", status_code=202)
        async def later(order: Order, once: Annotated[Once, Depends(idempotent(app))]) -> str:
            async with once.begin(order) as session:
                event = SendOrder(key=once.key, article=order.article)
                app.publish(session, event, settles=once.entry)
            return once.key

        async with running(web) as client:
            assert (await post(client, "/later")).status_code == 202
            await app.adrain()
            assert (await post(client, "/later")).json()["result"] == {"sent": "sencha"}


async def test_the_same_body_for_another_order_is_another_request(sqlite_copy: str) -> None:
    """ID-2: path and query count, so that no payment of order 6 is answered with that of order 5"""
    with shop(sqlite_copy) as app:
        web, router = web_of(app), APIRouter(prefix="/shop")

        @router.post("/orders/{order_id}/pay")
        async def pay(
            order_id: int, order: Order, once: Annotated[Once, Depends(idempotent(app))]
        ) -> Response:
            async with once.begin(order):
                return once.answer({"paid": order_id})

        web.include_router(router)
        async with running(web) as client:
            for _ in range(2):
                assert (await post(client, "/shop/orders/5/pay")).json() == {"paid": 5}
            assert told(await post(client, "/shop/orders/6/pay"))[0] == 409
            assert told(await post(client, "/shop/orders/5/pay?currency=JPY"))[0] == 409
            assert (await post(client, "/shop/orders/6/pay", key="k")).json() == {"paid": 6}
        assert {one.operation for one in entries(app)} == {"POST /shop/orders/{order_id}/pay"}


async def test_who_asks_is_found_by_functions_of_the_request(sqlite_copy: str) -> None:
    """ID-1: `def` and `async def`"""

    async def tenant(request: Request) -> str:
        return request.headers["X-Tenant"]

    with shop(sqlite_copy) as app:
        web = FastAPI()
        install(web, app)
        once = idempotent(
            app,
            header="X-Key",
            caller=lambda request: request.headers["X-Caller"],
            tenant=tenant,
            operation="pay",
            expires="1h",
        )

        @web.post("/pay")
        async def pay(once: Annotated[Once, Depends(once)]) -> Response:
            async with once.begin({}):
                return once.answer(f"{once.tenant} {once.caller} {once.operation}")

        async with running(web) as client:
            headers = {"X-Key": "a", "X-Caller": "hanako", "X-Tenant": "kyoto"}
            assert (await client.post("/pay", headers=headers)).json() == "kyoto hanako pay"
        (entry,) = entries(app)
        assert (entry.tenant, entry.caller, entry.operation) == ("kyoto", "hanako", "pay")
        assert entry.expires_at is not None
        assert entry.settled_at is not None
        assert (entry.expires_at - entry.settled_at).total_seconds() == 3600


async def test_an_answer_without_a_body_is_repeated_too(sqlite_copy: str) -> None:
    """ID-2: and a redirect that is raised is no outcome"""
    with shop(sqlite_copy) as app:
        web = web_of(app)

        @web.post("/quiet")
        async def quiet(order: Order, once: Annotated[Once, Depends(idempotent(app))]) -> Response:
            async with once.begin(order):
                if order.article == "elsewhere":
                    raise HTTPException(303, headers={"Location": "/there"})
                return once.answer(status_code=204)

        async with running(web) as client:
            answer = await post(client, "/quiet", {"article": "elsewhere"})
            assert (answer.status_code, answer.headers["Location"]) == (303, "/there")
            answers = [await post(client, "/quiet") for _ in range(2)]
        assert {(one.status_code, one.content) for one in answers} == {(204, b"")}


async def test_where_no_key_is_required_each_request_without_one_is_new(sqlite_copy: str) -> None:
    """ID-2"""
    with shop(sqlite_copy) as app:
        web = FastAPI()
        install(web, app)

        @web.post("/orders")
        async def place(
            order: Order, once: Annotated[Once, Depends(idempotent(app, required=False))]
        ) -> Response:
            async with once.begin(order):
                return once.answer(once.key)

        async with running(web) as client:
            drawn = [(await post(client, "/orders", key=None)).json() for _ in range(2)]
            assert len({*drawn, (await post(client, "/orders")).json()}) == 3
            assert (await post(client, "/orders")).json() == KEY


async def test_an_outcome_can_be_looked_up_by_key(sqlite_copy: str) -> None:
    """ID-2: for a client that never got its answer"""
    with shop(sqlite_copy) as app:
        web = web_of(app)

        @web.get("/do/order/{key}")
        async def outcome(key: str) -> dict[str, object] | None:
            async with app.async_session() as session:
                entry = await app.ledger.find(session, key, operation="POST /do/order")
            return None if entry is None else outcome_of(entry)

        async with running(web) as client:
            await post(client, "/do/order")
            assert (await client.get(f"/do/order/{KEY}")).json()["status"] == "accepted"
            assert (await client.get("/do/order/other")).json() is None


async def test_an_application_without_install_is_told_so(sqlite_copy: str) -> None:
    """ID-8: at the first request, before anything is done"""
    with shop(sqlite_copy) as app:
        web = FastAPI()

        @web.post("/orders")
        async def place(once: Annotated[Once, Depends(idempotent(app))]) -> None:
            pass

        async with running(web) as client:
            with pytest.raises(InvalidOption, match=r"install\(web, app\)"):
                await post(client, "/orders")


@pytest.mark.parametrize("database", ["postgres", "mariadb"])
@pytest.mark.parametrize("path", ["/do/order", "/do/order/plainly", "/orders", "/orders/plainly"])
async def test_a_database_that_is_away_is_503_and_the_key_good_for_another_try(
    request: pytest.FixtureRequest, database: str, path: str
) -> None:
    """ID-2: whatever became of the first request, the second finds it"""
    url = str(request.getfixturevalue(f"{database}_copy"))
    with FaultyLine.to(url) as line, shop(line.url(url)) as app:
        async with running(web_of(app)) as client:
            line.cut()
            answer = await post(client, path)
            assert told(answer) == (503, "unavailable", "UNAVAILABLE")
            assert answer.headers["Retry-After"] == "1"
            line.heal()
            assert (await post(client, path)).status_code in (201, 202)
        assert placed(app) == 1


async def test_other_endpoints_keep_their_own_errors(postgres_copy: str) -> None:
    """ID-8: what `install` answers is about requests with a key"""
    with FaultyLine.to(postgres_copy) as line, shop(line.url(postgres_copy)) as app:
        web = web_of(app)

        @web.get("/count")
        def count() -> int:
            return len(published(app))

        async with running(web) as client:
            line.cut()
            with pytest.raises(Exception, match="connection"):
                await client.get("/count")


async def test_a_body_that_is_no_json_holds_no_key(sqlite_copy: str) -> None:
    """ID-2"""
    async with asking(sqlite_copy) as (_, client):
        headers = {"Content-Type": "application/json"}
        answer = await client.post("/do/order", content=b"{", headers=headers)
        assert answer.status_code == 422
        answer = await client.post("/do/order", content=b'{"a":1,"a":2}', headers=headers)
        assert told(answer) == (400, "malformed-body", "MALFORMED_BODY")
        number = {**SENCHA, "client_order_id": 5}
        assert told(await post(client, "/do/order", number, key=None))[1] == "invalid-key"
