"""Reads a request's key, and whose it is, before the endpoint runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, TypeAlias
from uuid import uuid4

from starlette.requests import Request

from todoke.app import Todoke
from todoke.duration import Duration
from todoke.errors import InvalidOption
from todoke.fastapi.once import Once
from todoke.web.answer import Answered
from todoke.web.body import is_json, read_json
from todoke.web.key import different_keys, invalid_key, key_in, missing_key

Reads: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""Finds something in a request, such as who has sent it."""


def idempotent(
    app: Todoke,
    *,
    header: str = "Idempotency-Key",
    field: str | None = None,
    caller: Reads | None = None,
    tenant: Reads | None = None,
    operation: str | None = None,
    expires: Duration | None = None,
    required: bool = True,
) -> Callable[[Request], Coroutine[Any, Any, Once]]:
    """For `Depends(idempotent(app))`: the request with its key.

    The key stands in the header, or else in the body's `field`. A key is one only together with
    caller, tenant and operation, which is the method and the route's path if not said. Where none
    is `required`, a request without one gets a key of its own, and is always a new one.
    """

    async def read_once(request: Request) -> Once:
        _check_installed(request)
        key = await _key(request, header, field)
        if key is None and required:
            where = f"the header {header}" + (f", or in the field {field}" if field else "")
            raise Answered(missing_key(where))
        once = Once(
            app,
            str(uuid4()) if key is None else key,
            caller=await _read(caller, request),
            tenant=await _read(tenant, request),
            operation=operation or _operation(request),
            expires=expires,
            place=_place(request),
        )
        request.state.todoke_once = once
        return once

    return read_once


def _check_installed(request: Request) -> None:
    if Answered not in request.app.exception_handlers:
        raise InvalidOption(
            "idempotent",
            type(request.app).__name__,
            "repeats could not be answered. Call todoke.fastapi.install(web, app).",
        )


async def _key(request: Request, header: str, field: str | None) -> str | None:
    told = key_in(request.headers.getlist(header), header)
    inside = await _in_body(request, field) if field else None
    if told is not None and inside is not None and told != inside:
        raise Answered(different_keys(header, str(field)))
    return inside if told is None else told


async def _in_body(request: Request, field: str) -> str | None:
    content_type = request.headers.get("content-type")
    body = await request.body()
    if not body or not is_json(content_type):
        return None
    document = read_json(body, content_type)
    found = document.get(field) if isinstance(document, dict) else None
    if found is not None and not isinstance(found, str):
        raise Answered(invalid_key(f"The field {field} must be text."))
    return found


async def _read(what: Reads | None, request: Request) -> str:
    if what is None:
        return ""
    found = what(request)
    return str(await found) if isawaitable(found) else str(found)


def _operation(request: Request) -> str:
    """`POST /orders/{order_id}`; under what the application is mounted at."""
    scope = request.scope
    mounted = str(scope.get("root_path", "")).removeprefix(str(scope.get("app_root_path", "")))
    template = getattr(scope.get("route"), "path", None)
    return (
        f"{request.method} {mounted}{template}" if template else f"{request.method} {scope['path']}"
    )


def _place(request: Request) -> dict[str, Any] | None:
    path = {name: str(value) for name, value in request.path_params.items()}
    query = request.url.query
    return {"path": path, "query": query} if path or query else None
