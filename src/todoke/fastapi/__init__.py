"""Requests with a key are done once, in FastAPI or plain Starlette; strict JSON in FastAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from todoke.fastapi.strict import StrictRoute

__all__ = ["StrictRoute"]


def __getattr__(name: str) -> Any:
    """The one name that needs FastAPI; for the others Starlette is enough."""
    if name != "StrictRoute":
        raise AttributeError(name)
    from todoke.fastapi.strict import StrictRoute  # noqa: PLC0415

    return StrictRoute
