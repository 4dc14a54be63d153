"""Django's database connections around an attempt: neither stale nor left open."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import close_old_connections, connections


def fresh_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """As Django does around a request: CONN_MAX_AGE and CONN_HEALTH_CHECKS count."""
    return _async(function) if iscoroutinefunction(function) else _plain(function)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        close_old_connections()
        try:
            return function(*arguments, **named)
        finally:
            close_old_connections()

    return call


def _async(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def call(*arguments: Any, **named: Any) -> Any:
        # A thread of its own for what the ORM does in this attempt, as for a request: it would
        # share one with all others, whose connections must not be closed under them.
        async with ThreadSensitiveContext():
            try:
                return await function(*arguments, **named)
            finally:
                await sync_to_async(connections.close_all)()

    return call
