"""One name for sync and async: a sync handle gets the value, an async one gets it awaited."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

from todoke.errors import TodokeError

P = ParamSpec("P")
R = TypeVar("R")

SyncHandle: TypeAlias = Session | Connection
AsyncHandle: TypeAlias = AsyncSession | AsyncConnection


class Both(Generic[P, R]):
    """A bound method that takes either kind of handle."""

    def __init__(self, function: Callable[..., R], owner: object) -> None:
        self._function, self._owner = function, owner

    @overload
    def __call__(self, handle: SyncHandle, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(
        self, handle: AsyncHandle, /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...
    def __call__(self, handle: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(handle, "execute"):
            raise TodokeError(
                f"{self._function.__name__} got {type(handle).__name__}. Pass a SQLAlchemy "
                "Session, AsyncSession, Connection or AsyncConnection."
            )

        def call(plain: Any) -> R:
            connection = plain.connection() if isinstance(plain, Session) else plain
            return self._function(self._owner, connection, *args, **kwargs)

        if isinstance(handle, AsyncSession | AsyncConnection):
            return handle.run_sync(call)
        return call(handle)


class BothMethod(Generic[P, R]):
    def __init__(self, function: Callable[..., R]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> Both[P, R]:
        return Both(self._function, instance)


def both(function: Callable[Concatenate[Any, Connection, P], R]) -> BothMethod[P, R]:
    """Let a method that takes a Connection take sessions and async handles, too."""
    return BothMethod(function)
