"""Routes of broker orders: taken once per key, sent later, and asked for by key."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Response

from shop.brokerage.context import brokerage
from shop.brokerage.messages import SendOrder
from shop.brokerage.model import OrderRequest
from shop.web.operations import ByOperator
from shop.web.problems import documented, problem
from todoke import Todoke
from todoke.operate import Accepted, Conflict, InProgress, LedgerEntry, Replay

OPERATION = "do-order"


def outcome_of(entry: LedgerEntry) -> dict[str, Any]:
    error = None
    if entry.state == "failed":
        error = {"code": entry.error_code, "message": entry.error_message}
    return {
        "key": entry.key,
        "status": entry.state,
        "result": entry.response,
        "error": error,
        "acceptedAt": entry.accepted_at.isoformat(),
        "settledAt": entry.settled_at and entry.settled_at.isoformat(),
    }


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(prefix="/do/order", tags=["brokerage"], responses=documented(422))

    @router.post("", status_code=202, responses=documented(409))
    def do_order(
        request: OrderRequest,
        operator: ByOperator,
        response: Response,
        idempotency_key: Annotated[str | None, Header()] = None,
    ) -> Any:
        key = idempotency_key or request.idempotency_key or ""
        with app.session() as session:
            answer = app.ledger.accept(
                session, key, request, caller=operator.name, operation=OPERATION
            )
            match answer:
                case Accepted(entry):
                    wish = SendOrder(client_key=key, order=request)
                    brokerage.publish(session, wish, settles=entry)
                    response.headers["Location"] = f"/do/order/{quote(key, safe='')}"
                    return outcome_of(entry)
                case Replay(entry):
                    response.status_code = 200
                    response.headers["Idempotency-Replayed"] = "true"
                    return outcome_of(entry)
                case InProgress(entry, retry_after):
                    response.status_code = 200
                    response.headers["Retry-After"] = str(retry_after)
                    return outcome_of(entry)
                case Conflict():
                    return problem(409, "KEY_REUSED", "This key was used for another order.")

    @router.get("/{key:path}", responses=documented(404))
    def show(key: str, operator: ByOperator) -> Any:
        with app.session() as session:
            entry = app.ledger.find(session, key, caller=operator.name, operation=OPERATION)
        return outcome_of(entry) if entry else problem(404, "NOT_FOUND", "No such key.")

    return router
