"""Routes of broker orders: taken once per key, sent later, and asked for by key."""

from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Depends, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import ConfigDict

from shop.brokerage.adapter import Receipt
from shop.brokerage.context import brokerage
from shop.brokerage.messages import SendOrder
from shop.brokerage.model import OrderRequest
from shop.web import examples
from shop.web.documented import UNREADABLE, documented
from shop.web.operations import ANONYMOUS, ByOperator
from shop.web.views import Outgoing
from todoke import Todoke
from todoke.errors import InvalidKey
from todoke.fastapi import Once, StrictRoute, idempotent, outcome_of

_OPERATION = "do-order"


class Failure(Outgoing):
    code: str
    message: str | None


class Outcome(Outgoing):
    """What became of an order, for the API's documentation."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.OUTCOME]})

    key: str
    status: Literal["accepted", "succeeded", "failed"]
    result: Receipt | None
    error: Failure | None
    accepted_at: datetime
    settled_at: datetime | None


_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {"model": Outcome, "description": "What became of it"}
}

_REFUSED = (
    "MISSING_KEY",
    "INVALID_KEY",
    "DIFFERENT_KEYS",
    "KEY_REUSED",
    "UNAVAILABLE",
)

Wish = Annotated[OrderRequest, Body(examples=[examples.BROKER_ORDER])]

# Read by the dependency; told here to whoever reads the documentation.
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Drawn once for each order. It may stand in `idempotencyKey` instead.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
}


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(
        prefix="/do/order",
        tags=["brokerage"],
        route_class=StrictRoute,
        responses=_DOCUMENTED | documented("INVALID_REQUEST"),
    )
    once_per_key = idempotent(app, field="idempotencyKey", caller=_caller, operation=_OPERATION)

    @router.post(
        "",
        summary="Send an order to the broker",
        status_code=202,
        response_model=Outcome,
        responses=documented(*_REFUSED, *UNREADABLE),
        openapi_extra={"parameters": [_KEY]},
    )
    def do_order(
        request: Wish, once: Annotated[Once, Depends(once_per_key)], operator: ByOperator
    ) -> JSONResponse:
        """Take the order, if its key is new; else tell what became of the one before."""
        with app.session() as session:
            entry = once.accept(session, request)
            wish = SendOrder(client_key=once.key, order=request)
            brokerage.publish(session, wish, settles=entry)
            # The account is nobody's business here; the message has it.
            subject, details = f"broker-order-{entry.message_id}", {"idempotencyKey": once.key}
            performed = operator.performed("BROKER_ORDER_PLACE", subject, details, app.clock.now())
            app.publish(session, performed)
        where = {"Location": f"/do/order/{quote(once.key, safe='')}"}
        return JSONResponse(outcome_of(entry), 202, where)

    @router.get(
        "/{key:path}",
        summary="Show what became of an order to the broker",
        response_model=Outcome,
        responses=documented("NOT_FOUND"),
    )
    def show(key: str, operator: ByOperator) -> JSONResponse:
        """For a client whose connection died before it was told."""
        with app.session() as session:
            try:
                entry = app.ledger.find(session, key, caller=operator.name, operation=_OPERATION)
            except InvalidKey:
                entry = None  # nobody can have used it
        if entry is None:
            raise HTTPException(404, "You have placed no order under this key.")
        return JSONResponse(outcome_of(entry))

    return router


def _caller(request: Request) -> str:
    return request.headers.get("X-Operator", ANONYMOUS)
