"""What `@on` and `@job` take and give back, and what it keeps until the application is built."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypedDict, TypeVar, overload

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from todoke.duration import Duration
from todoke.identity import kebab
from todoke.jobs.job import Job
from todoke.jobs.run import Run
from todoke.limits import Breaker, Limit, Rate
from todoke.message import Event, Followers
from todoke.outcome import Outcome
from todoke.retry import Backoff
from todoke.work.handler import Answer, OnCrash

E = TypeVar("E", bound=Event)
P = ParamSpec("P")
R = TypeVar("R")
X = TypeVar("X")
A = TypeVar("A", bound=Answer | Coroutine[Any, Any, Answer])


class HandlerOptions(TypedDict, total=False):
    """What `@on` takes beside the events; docs/handlers.md tells each."""

    name: str | None
    retry: Backoff | str | None
    timeout: Duration | None
    on_crash: OnCrash
    publishes: Sequence[type[Event]] | None
    followers: Followers | None
    queue: str | None
    limit: Limit | Rate | Sequence[Limit | Rate] | None
    breaker: Breaker | None


class On(Protocol[E]):
    """Takes a function whose first parameter is the event; it can still be called in a test."""

    def __call__(
        self, function: Callable[Concatenate[E, P], A], /
    ) -> Callable[Concatenate[E, P], A]: ...


class JobDecorator(Protocol):
    """Takes a function; what its first parameter is annotated with is the job's argument."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[Run, ...], Coroutine[Any, Any, R | Outcome]], /
    ) -> Job[None, R]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Run, ...], R | Outcome], /
    ) -> Job[None, R]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Session, ...], R | Outcome], /
    ) -> Job[None, R]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[AsyncSession, ...], Coroutine[Any, Any, R | Outcome]],
        /,
    ) -> Job[None, R]: ...
    @overload
    def __call__(
        self, function: Callable[[], Coroutine[Any, Any, R | Outcome]], /
    ) -> Job[None, R]: ...
    @overload
    def __call__(self, function: Callable[[], R | Outcome], /) -> Job[None, R]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[X, ...], Coroutine[Any, Any, R | Outcome]], /
    ) -> Job[X, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[X, ...], R | Outcome], /) -> Job[X, R]: ...


class Wish:
    """What `@on` was given, until the application is built."""

    def __init__(
        self, function: Callable[..., Any], events: tuple[type[Event], ...], **options: Any
    ):
        self.function: Callable[..., Any] = function
        self.events: tuple[type[Event], ...] = events
        self.options: dict[str, Any] = options
        self.name: str = options.pop("name") or kebab(function.__name__)
