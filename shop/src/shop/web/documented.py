"""What the API's documentation says of refusals: each code that a route answers, by an example."""

from collections import defaultdict
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from shop.web.views import Outgoing

_SCHEMAS = "#/components/schemas/"


class FieldError(Outgoing):
    field: str
    message: str


class Problem(Outgoing):
    """The shape of every refusal."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    current_status: str | None = None
    sku: str | None = None
    wanted: int | None = None
    free: int | None = None
    errors: list[FieldError] | None = None


def problem_of(status: int, code: str, detail: str, **members: object) -> dict[str, Any]:
    return {
        "type": f"urn:shop:problem:{code.lower().replace('_', '-')}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        **members,
    }


def _of_todoke(status: int, code: str, title: str, detail: str) -> dict[str, Any]:
    kind = f"urn:todoke:problem:{code.lower().replace('_', '-')}"
    return problem_of(status, code, detail) | {"type": kind, "title": title}


_EXAMPLES = [
    _of_todoke(
        400,
        "MALFORMED_BODY",
        "The body cannot be read",
        "The body is no strict JSON: byte 17 is no UTF-8.",
    ),
    _of_todoke(
        400,
        "MISSING_KEY",
        "No idempotency key was given",
        "Send a key of your own in the header Idempotency-Key, and the same one to ask again.",
    ),
    _of_todoke(
        400,
        "INVALID_KEY",
        "The idempotency key cannot be one",
        "The header Idempotency-Key was sent 2 times. Send it once.",
    ),
    _of_todoke(
        400,
        "DIFFERENT_KEYS",
        "Two different idempotency keys were given",
        "The header Idempotency-Key and the field idempotencyKey hold different keys.",
    ),
    problem_of(404, "NOT_FOUND", "You have placed no order under this key."),
    problem_of(404, "ORDER_NOT_FOUND", "There is no order 12345."),
    problem_of(404, "PRODUCT_NOT_FOUND", "There is no product KYUSU-01.", sku="KYUSU-01"),
    problem_of(404, "SHIPMENT_FILE_NOT_FOUND", "There is no shipment file 12345."),
    problem_of(
        409,
        "INVALID_STATUS_TRANSITION",
        "The order is PENDING and cannot become SHIPPED.",
        currentStatus="PENDING",
    ),
    problem_of(409, "RETURN_EXISTS", "The return of order 1 is asked for already."),
    problem_of(
        409,
        "OUT_OF_STOCK",
        "2 of KYUSU-01 are wanted and 1 are free.",
        sku="KYUSU-01",
        wanted=2,
        free=1,
    ),
    problem_of(
        409,
        "TOO_MUCH_STOCK",
        "There would be more than 2,000,000,000 of KYUSU-01; nothing was received.",
        sku="KYUSU-01",
    ),
    problem_of(
        409,
        "OUTCOME_IS_KNOWN",
        "Shipment file 1 is TRANSFERRED: there is nothing to decide.",
        currentStatus="TRANSFERRED",
    ),
    _of_todoke(
        409,
        "KEY_REUSED",
        "The idempotency key belongs to another request",
        "This key was used for a request with other content. Draw a new key for a new request.",
    ),
    problem_of(413, "CONTENT_TOO_LARGE", "The body has more than 262,144 bytes."),
    problem_of(
        422,
        "INVALID_REQUEST",
        "The request was not understood; `errors` names each field.",
        errors=[{"field": "lines.0.quantity", "message": "Input should be a valid integer"}],
    ),
    problem_of(
        422,
        "UNKNOWN_PRODUCT",
        "CHASEN-09 is not sold here; GET /api/product lists what is.",
        sku="CHASEN-09",
    ),
    _of_todoke(
        503,
        "UNAVAILABLE",
        "The database is not available right now",
        "It is not known whether the request was taken. Ask again with the same key.",
    ),
]
_BY_CODE = {example["code"]: example for example in _EXAMPLES}
UNREADABLE = ("MALFORMED_BODY", "CONTENT_TOO_LARGE")
"""What a route answers that reads a body."""


def documented(*codes: str) -> dict[int | str, dict[str, Any]]:
    """For `responses=`; what a route says of a status replaces what its router says of it."""
    by_status: defaultdict[int, dict[str, Any]] = defaultdict(dict)
    for code in codes:
        by_status[_BY_CODE[code]["status"]][code] = {"value": _BY_CODE[code]}
    schema = {"$ref": f"{_SCHEMAS}{Problem.__name__}"}
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {"application/problem+json": {"schema": schema, "examples": examples}},
        }
        for status, examples in by_status.items()
    }


class Described(FastAPI):
    """FastAPI that describes problems, and null where an example has it; by itself it does not."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        _, shapes = models_json_schema(
            [(view, "serialization") for view in Outgoing.__subclasses__()],
            ref_template=_SCHEMAS + "{model}",
        )
        document["components"]["schemas"] |= shapes["$defs"]
        return document
