"""A declared job: what users enqueue, bind and call."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload
from uuid import UUID

from todoke.duration import Duration
from todoke.handles.kinds import AsyncTx, SyncTx
from todoke.identity import kebab
from todoke.jobs.unique import Unique

if TYPE_CHECKING:
    from todoke.context import Context

A = TypeVar("A")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

ABSENT: Any = object()
"""No argument at all, which is not None."""


class JobRef(Generic[R_co]):
    """Which job it is. Of a repeat under a unique key it is the first, as soon as that is known."""

    def __init__(self, id: UUID, job: str = "", unique: str | None = None) -> None:
        self.id: UUID = id
        self.job: str = job
        self.unique: str | None = unique
        self.existed: bool = False
        """The key was taken: nothing was enqueued."""

    def note_first(self, first: UUID) -> None:
        self.id, self.existed = first, True

    def __repr__(self) -> str:
        return f"JobRef({self.job} {self.id})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobRef) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(frozen=True, slots=True)
class Call(Generic[R_co]):
    """A job with its argument, to be enqueued in a chain or a batch."""

    job: Job[Any, Any]
    argument: Any
    delay: Duration | None = None
    priority: int | None = None
    queue: str | None = None


@dataclass(frozen=True, slots=True)
class BatchRef:
    """Which batch or chain it is; `jobs` are those that were enqueued with it."""

    id: UUID
    jobs: tuple[JobRef[Any], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """Several calls, and in which order."""

    kind: str
    calls: tuple[Call[Any], ...]
    then: Call[Any] | None = None
    failed: Call[Any] | None = None
    name: str | None = None


def chain(*calls: Call[Any]) -> Plan:
    """One after the other: the next is enqueued in the transaction that records a result."""
    return Plan("chain", calls)


def batch(
    calls: Iterable[Call[Any]],
    *,
    then: Call[Any] | None = None,
    failed: Call[Any] | None = None,
    name: str | None = None,
) -> Plan:
    """Together; `then` follows once all have succeeded, `failed` once all ended and some failed."""
    return Plan("batch", tuple(calls), then, failed, name)


class Job(Generic[A, R]):
    """A function that workers call later; it can still be called in a test."""

    def __init__(
        self, function: Callable[..., Any], context: Context, options: dict[str, Any]
    ) -> None:
        self.function: Callable[..., Any] = function
        self.context: Context = context
        self.name: str = options.pop("name", None) or kebab(function.__name__)
        self.options: dict[str, Any] = options
        self.__doc__ = function.__doc__
        self.__name__: str = function.__name__
        self.__qualname__: str = function.__qualname__
        self.__module__ = function.__module__
        self.__wrapped__: Callable[..., Any] = function

    def __repr__(self) -> str:
        return f"Job({self.name})"

    @overload
    def __call__(self: Job[None, R], *injected: Any, **named: Any) -> Any: ...
    @overload
    def __call__(self, argument: A, *injected: Any, **named: Any) -> Any: ...
    def __call__(self, *values: Any, **named: Any) -> Any:
        """Call the function itself, here and now."""
        return self.function(*values, **named)

    @overload
    def enqueue(
        self: Job[None, R],
        tx: SyncTx,
        /,
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        unique: str | Unique | None = None,
    ) -> JobRef[R]: ...
    @overload
    def enqueue(
        self: Job[None, R],
        tx: AsyncTx,
        /,
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        unique: str | Unique | None = None,
    ) -> Coroutine[Any, Any, JobRef[R]]: ...
    @overload
    def enqueue(
        self,
        tx: SyncTx,
        argument: A,
        /,
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        unique: str | Unique | None = None,
    ) -> JobRef[R]: ...
    @overload
    def enqueue(
        self,
        tx: AsyncTx,
        argument: A,
        /,
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        unique: str | Unique | None = None,
    ) -> Coroutine[Any, Any, JobRef[R]]: ...
    def enqueue(self, tx: Any, argument: Any = ABSENT, /, **options: Any) -> Any:
        """Run it later, if and only if the caller's transaction commits.

        `delay` is a length of time or a moment; a higher `priority` (-100…100) goes first. On an
        AsyncConnection, or an async driver's: await it.
        """
        return self._app().enqueuing.one(tx, self, argument, **options)

    @overload
    def enqueue_all(
        self,
        tx: SyncTx,
        arguments: Iterable[A],
        /,
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
    ) -> list[JobRef[R]]: ...
    @overload
    def enqueue_all(
        self,
        tx: AsyncTx,
        arguments: Iterable[A],
        /,
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
    ) -> Coroutine[Any, Any, list[JobRef[R]]]: ...
    def enqueue_all(self, tx: Any, arguments: Iterable[Any], /, **options: Any) -> Any:
        """Many with one INSERT; if one is refused, none is written."""
        return self._app().enqueuing.many(tx, self, arguments, **options)

    @overload
    def bind(
        self: Job[None, R],
        /,
        *,
        delay: Duration | None = None,
        priority: int | None = None,
        queue: str | None = None,
    ) -> Call[R]: ...
    @overload
    def bind(
        self,
        argument: A,
        /,
        *,
        delay: Duration | None = None,
        priority: int | None = None,
        queue: str | None = None,
    ) -> Call[R]: ...
    def bind(self, argument: Any = ABSENT, /, **options: Any) -> Call[Any]:
        """The job with its argument, for `chain` and `batch`."""
        return Call(self, argument, **options)

    def _app(self) -> Any:
        return self.context.application("enqueue")
