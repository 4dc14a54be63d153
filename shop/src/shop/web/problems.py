"""Errors as RFC 9457 problems, each with a `code` that programs can rely on."""

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from shop.fulfilment import NotShippedYet
from shop.inventory.model import MOST_STOCK, OutOfStock, TooMuchStock
from shop.ordering.model import InvalidStatusTransition
from shop.ordering.orders import OrderNotFound, UnknownProduct
from shop.ordering.products import ProductNotFound
from shop.shipping.files import FileNotFound, OutcomeIsKnown
from shop.shipping.shipments import ReturnExists
from shop.web.documented import problem_of

# A body can be wrong in more places than anybody wants to read.
_MOST_ERRORS = 50


def problem(status: int, code: str, detail: str, **members: object) -> Response:
    body = problem_of(status, code, detail, **members)
    # ASCII with escapes: a field's name may hold what cannot be written as UTF-8.
    return Response(json.dumps(body), status, media_type="application/problem+json")


# Python 3.13 calls these otherwise than 3.12; a client must not notice.
_RENAMED = {413: "CONTENT_TOO_LARGE", 422: "UNPROCESSABLE_CONTENT"}


def install_problems(web: FastAPI) -> None:
    @web.exception_handler(OrderNotFound)
    def order_not_found(request: Request, error: OrderNotFound) -> Response:
        return problem(404, "ORDER_NOT_FOUND", f"There is no order {error.order_id}.")

    @web.exception_handler(ProductNotFound)
    def product_not_found(request: Request, error: ProductNotFound) -> Response:
        return problem(404, "PRODUCT_NOT_FOUND", f"There is no product {error.sku}.", sku=error.sku)

    @web.exception_handler(UnknownProduct)
    def unknown_product(request: Request, error: UnknownProduct) -> Response:
        detail = f"{error.sku} is not sold here; GET /api/product lists what is."
        return problem(422, "UNKNOWN_PRODUCT", detail, sku=error.sku)

    @web.exception_handler(FileNotFound)
    def file_not_found(request: Request, error: FileNotFound) -> Response:
        detail = f"There is no shipment file {error.file_id}."
        return problem(404, "SHIPMENT_FILE_NOT_FOUND", detail)

    @web.exception_handler(OutOfStock)
    def out_of_stock(request: Request, error: OutOfStock) -> Response:
        detail = f"{error.wanted} of {error.sku} are wanted and {error.free} are free."
        told = {"sku": error.sku, "wanted": error.wanted, "free": error.free}
        return problem(409, "OUT_OF_STOCK", detail, **told)

    @web.exception_handler(TooMuchStock)
    def too_much_stock(request: Request, error: TooMuchStock) -> Response:
        detail = f"There would be more than {MOST_STOCK:,} of {error.sku}; nothing was received."
        return problem(409, "TOO_MUCH_STOCK", detail, sku=error.sku)

    @web.exception_handler(ReturnExists)
    def return_exists(request: Request, error: ReturnExists) -> Response:
        detail = f"The return of order {error.order_id} is asked for already."
        return problem(409, "RETURN_EXISTS", detail)

    @web.exception_handler(NotShippedYet)
    def not_shipped_yet(request: Request, error: NotShippedYet) -> Response:
        detail = f"Order {error.order_id} is {error.current}: what has not left cannot come back."
        return problem(409, "INVALID_STATUS_TRANSITION", detail, currentStatus=error.current.value)

    @web.exception_handler(OutcomeIsKnown)
    def outcome_is_known(request: Request, error: OutcomeIsKnown) -> Response:
        detail = (
            f"Shipment file {error.file.id} is {error.file.status}: there is nothing to decide."
        )
        return problem(409, "OUTCOME_IS_KNOWN", detail, currentStatus=error.file.status.value)

    @web.exception_handler(InvalidStatusTransition)
    def invalid_move(request: Request, error: InvalidStatusTransition) -> Response:
        detail = f"The order is {error.current} and cannot become {error.wanted}."
        return problem(409, "INVALID_STATUS_TRANSITION", detail, currentStatus=error.current.value)

    @web.exception_handler(RequestValidationError)
    def invalid_request(request: Request, error: RequestValidationError) -> Response:
        errors = [_field_error(found) for found in error.errors()[:_MOST_ERRORS]]
        detail = "The request was not understood; `errors` names each field."
        return problem(422, "INVALID_REQUEST", detail, errors=errors)

    @web.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        code = _RENAMED.get(error.status_code) or HTTPStatus(error.status_code).name
        answer = problem(error.status_code, code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    @web.exception_handler(Exception)
    def failed(request: Request, error: Exception) -> Response:
        return problem(500, "INTERNAL_ERROR", "The shop failed; its log says why.")


def _field_error(found: dict[str, Any]) -> dict[str, str]:
    # The place without its first part ("body", "path"), and never the value: it may be personal.
    where = [str(part) for part in found["loc"]]
    field = ".".join(where[1:]) or ".".join(where)
    return {"field": field[:200], "message": found["msg"]}
