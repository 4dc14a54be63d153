"""Requests with a key are done once, in FastAPI or plain Starlette; strict JSON in FastAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from todoke.fastapi.dependency import idempotent
from todoke.fastapi.install import install
from todoke.fastapi.once import Once
from todoke.web.answer import Answered
from todoke.web.repeat import outcome_of

if TYPE_CHECKING:
    from todoke.fastapi.strict import StrictRoute

__all__ = ["Answered", "Once", "StrictRoute", "idempotent", "install", "outcome_of"]


def __getattr__(name: str) -> Any:
    """The one name that needs FastAPI; for the others Starlette is enough."""
    if name != "StrictRoute":
        raise AttributeError(name)
    from todoke.fastapi.strict import StrictRoute  # noqa: PLC0415

    return StrictRoute
