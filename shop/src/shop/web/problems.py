"""Errors as RFC 9457 problems, each with a `code` that programs can rely on."""

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from shop.ordering.model import InvalidStatusTransition
from shop.ordering.orders import OrderNotFound
from shop.web.views import Outgoing

# A body can be wrong in more places than anybody wants to read.
_MOST_ERRORS = 50


class FieldError(Outgoing):
    field: str
    message: str


class Problem(Outgoing):
    """The shape of every error, for the API's documentation."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    current_status: str | None = None
    errors: list[FieldError] | None = None


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {
        status: {
            "model": Problem,
            "description": HTTPStatus(status).phrase,
            "content": {"application/problem+json": {}},
        }
        for status in statuses
    }


def problem(status: int, code: str, detail: str, **members: object) -> Response:
    body = {
        "type": f"urn:shop:problem:{code.lower().replace('_', '-')}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        **members,
    }
    # ASCII with escapes: a field's name may hold what cannot be written as UTF-8.
    return Response(json.dumps(body), status, media_type="application/problem+json")


# Python 3.13 calls these otherwise than 3.12; a client must not notice.
_RENAMED = {413: "CONTENT_TOO_LARGE", 422: "UNPROCESSABLE_CONTENT"}


def install_problems(web: FastAPI) -> None:
    @web.exception_handler(OrderNotFound)
    def order_not_found(request: Request, error: OrderNotFound) -> Response:
        return problem(404, "ORDER_NOT_FOUND", f"There is no order {error.order_id}.")

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
