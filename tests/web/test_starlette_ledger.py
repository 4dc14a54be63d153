"""Requests with an idempotency key in plain Starlette."""

from __future__ import annotations

import subprocess
import sys

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from tests.web.client import running
from tests.web.orders import SendOrder, entries, published, shop
from tests.web.test_fastapi_ledger import post, told
from todoke import Todoke
from todoke.fastapi import idempotent, install


def web_of(app: Todoke) -> Starlette:
    read_once = idempotent(app)

    async def place(request: Request) -> Response:
        once, body = await read_once(request), await request.json()
        async with app.async_session() as session:
            entry = await once.accept(session, body)
            app.publish(session, SendOrder(key=once.key, article=body["article"]), settles=entry)
        return JSONResponse({"key": once.key}, 202)

    async def pay(request: Request) -> Response:
        once = await read_once(request)
        async with once.begin(await request.body()):
            return once.answer({"paid": request.path_params["order_id"]})

    inner = Starlette(routes=[Route("/orders/{order_id}/pay", pay, methods=["POST"])])
    routes = [Route("/orders", place, methods=["POST"]), Mount("/inner", inner)]
    web = Starlette(routes=routes, lifespan=app.lifespan)
    install(web, app)
    install(inner, app)
    return web


async def test_starlette_does_a_request_once(migrated_url: str) -> None:
    """ID-2, ID-8"""
    with shop(migrated_url) as app:
        async with running(web_of(app)) as client:
            assert (await post(client, "/orders")).status_code == 202
            assert (await post(client, "/orders")).json()["status"] == "accepted"
            assert told(await post(client, "/orders", {"article": "matcha"}))[0] == 409
            assert told(await post(client, "/orders", key=None))[0] == 400
            await app.adrain()
            assert (await post(client, "/orders")).json()["status"] == "succeeded"
        assert published(app) == ["send-order"]


async def test_an_application_that_is_mounted_has_operations_of_its_own(sqlite_copy: str) -> None:
    """ID-8: and the path counts, as do the bytes of the body"""
    with shop(sqlite_copy) as app:
        async with running(web_of(app)) as client:
            for _ in range(2):
                assert (await post(client, "/inner/orders/5/pay")).json() == {"paid": "5"}
            assert told(await post(client, "/inner/orders/6/pay"))[0] == 409
            assert told(await post(client, "/inner/orders/5/pay", {}))[0] == 409
        assert [one.operation for one in entries(app)] == ["POST /inner/orders/{order_id}/pay"]


def test_starlette_needs_no_fastapi() -> None:
    """ID-8"""
    program = "import sys; sys.modules['fastapi'] = None; from todoke.fastapi import install"
    subprocess.run([sys.executable, "-c", program], check=True)
