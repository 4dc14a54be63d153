"""The broker's HTTP side."""

from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.middleware.trustedhost import TrustedHostMiddleware

from shop.paper_broker.book import Book, Taken
from shop.paper_broker.desk import Desk
from shop.paper_broker.script import Step

Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=255)]


class Order(BaseModel):
    """Whatever else it holds is kept as it came."""

    model_config = ConfigDict(extra="allow")

    client_order_id: str = Field(alias="clientOrderId", min_length=1, max_length=255)


def create_broker_web(book: Book, hosts: tuple[str, ...] = ()) -> FastAPI:
    """The API over this book; asked under another host name than its own, it does not answer."""
    web = FastAPI(title="paper broker", summary="Takes an order once per Idempotency-Key.")
    # A site on the internet may name its own host to this address and trade by that.
    web.add_middleware(
        TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]", *hosts]
    )
    desk = Desk(book)

    @web.post("/orders", status_code=201)
    async def take(order: Order, key: Key, request: Request) -> Response:
        return await desk.serve(key, order.model_dump(by_alias=True), request)

    @web.get("/orders")
    def list_orders() -> list[dict[str, Any]]:
        return [_shown(taken) for taken in book.orders()]

    @web.get("/orders/{key:path}")
    def show_order(key: str) -> dict[str, Any]:
        for taken in book.orders(key):
            return _shown(taken)
        raise HTTPException(404, "no order was taken under this key")

    @web.put("/script", status_code=204)
    def write_script(steps: list[Step]) -> None:
        desk.script.write(steps)

    @web.get("/traffic")
    def show_traffic() -> dict[str, Any]:
        return desk.traffic.told

    return web


def _shown(taken: Taken) -> dict[str, Any]:
    return {"key": taken.key, "order": taken.body, "receipt": taken.receipt}
