"""A bounded context: its handlers, its providers, its way of judging errors."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from todoke.duration import Duration
from todoke.errors import ContextNotIncluded, ErrorClass, InvalidOption, UnknownEvent
from todoke.handles.kinds import AsyncTx, SyncTx
from todoke.jobs.handler import Executor
from todoke.jobs.job import ABSENT, BatchRef, Call, Job, Plan
from todoke.jobs.run import Tick
from todoke.jobs.schedule import ByCron, ByInterval, ScheduleWish, wish_of
from todoke.ledger.entry import LedgerEntry
from todoke.limits import Breaker, Limit, Rate
from todoke.message import Event, Followers, Message
from todoke.retry import Backoff
from todoke.wish import HandlerOptions, JobDecorator, On, Wish
from todoke.work.handler import Classifier, Middleware, OnCrash, check_function, place
from todoke.work.inject import Provider, Scope, provider

if TYPE_CHECKING:
    from todoke.app import Todoke

A = TypeVar("A")
E = TypeVar("E", bound=Event)
E2 = TypeVar("E2", bound=Event)
E3 = TypeVar("E3", bound=Event)
E4 = TypeVar("E4", bound=Event)
M = TypeVar("M", bound=Middleware)
F = TypeVar("F", bound=Callable[..., Any])
X = TypeVar("X", bound=BaseException)


class Context:
    """Business code with its own events; `Todoke.include` makes it part of an application."""

    def __init__(
        self, name: str, *, modules: Sequence[str] = (), retry: Backoff | str | None = None
    ) -> None:
        if "/" in name or not 0 < len(name) <= 100:
            raise InvalidOption("Context(name)", name, 'at most 100 characters, and no "/".')
        self.name = name
        self._modules, self._retry = tuple(modules), retry
        self._package = _of_caller("__package__")
        self.home: str = self._package or _of_caller("__name__")
        self.wishes: list[Wish] = []
        self.declared_jobs: list[Job[Any, Any]] = []
        self.declared_schedules: list[ScheduleWish] = []
        self.provided: list[Provider] = []
        self.classifiers: list[tuple[type[BaseException], Classifier]] = []
        self.middlewares: list[Middleware] = []
        self._app: Todoke | None = None

    @overload
    def on(self, a: type[E], /, **options: Unpack[HandlerOptions]) -> On[E]: ...
    @overload
    def on(self, a: type[E], b: type[E2], /, **options: Unpack[HandlerOptions]) -> On[E | E2]: ...
    @overload
    def on(
        self, a: type[E], b: type[E2], c: type[E3], /, **options: Unpack[HandlerOptions]
    ) -> On[E | E2 | E3]: ...
    @overload
    def on(
        self,
        a: type[E],
        b: type[E2],
        c: type[E3],
        d: type[E4],
        /,
        **options: Unpack[HandlerOptions],
    ) -> On[E | E2 | E3 | E4]: ...
    @overload
    def on(
        self,
        a: type[Event],
        b: type[Event],
        c: type[Event],
        d: type[Event],
        e: type[Event],
        /,
        *more: type[Event],
        **options: Unpack[HandlerOptions],
    ) -> On[Any]: ...
    def on(
        self,
        *events: type[Event],
        name: str | None = None,
        retry: Backoff | str | None = None,
        timeout: Duration | None = None,
        on_crash: OnCrash = "retry",
        publishes: Sequence[type[Event]] | None = None,
        followers: Followers | None = None,
        queue: str | None = None,
        limit: Limit | Rate | Sequence[Limit | Rate] | None = None,
        breaker: Breaker | None = None,
    ) -> On[Any]:
        """Handle these events: `def` in a thread, `async def` on the event loop."""
        declared = None if publishes is None else self._classes(publishes)
        for event in (*events, *(declared or ())):
            if not (isinstance(event, type) and issubclass(event, Event)):
                raise UnknownEvent(event)
        if not events:
            raise InvalidOption(f"@{self.name}.on", "()", "name at least one event class.")

        def register(function: Any) -> Any:
            options = {"name": name, "retry": retry or self._retry, "timeout": timeout}
            more = {"on_crash": on_crash, "publishes": declared, "followers": followers}
            bounds = {"queue": queue, "limit": limit, "breaker": breaker}
            check_function(function, f"@{self.name}.on")
            self.wishes.append(Wish(function, events, **options, **more, **bounds))
            return function

        return register

    @overload
    def provide(self, factory: F, /) -> F: ...
    @overload
    def provide(self, /, *, scope: Scope = "process") -> Callable[[F], F]: ...
    def provide(self, factory: Any = None, /, *, scope: Scope = "process") -> Any:
        """Provide values of the function's return type to what asks for them."""

        def register(function: F) -> F:
            self.provided.append(provider(function, scope, self._provider_context()))
            return function

        return register if factory is None else register(factory)

    def classify(self, error: type[X], as_: ErrorClass | Callable[[X], ErrorClass], /) -> None:
        """Say what class a third party's exception has."""
        if not (isinstance(error, type) and issubclass(error, BaseException)):
            raise InvalidOption("classify", error, "name a class of exceptions, as in OSError.")
        if not callable(as_) and as_ not in ("permanent", "transient", "business", "timeout"):
            raise InvalidOption(
                f"classify({error.__name__})", as_, "permanent, transient, business or timeout."
            )
        self.classifiers.append((error, as_))

    def middleware(self, function: M, /) -> M:
        """Run this around every handler of the context, outermost first."""
        if not inspect.iscoroutinefunction(function):
            raise InvalidOption(
                f"middleware ({place(function)})", function.__name__, "must be `async def`."
            )
        self.middlewares.append(function)
        return function

    @overload
    def publish(
        self,
        tx: SyncTx,
        event: E,
        /,
        *,
        delay: Duration | datetime | None = None,
        expires: Duration | None = None,
        headers: Mapping[str, str] | None = None,
        locked: bool = False,
        settles: LedgerEntry | None = None,
    ) -> Message[E]: ...
    @overload
    def publish(
        self,
        tx: AsyncTx,
        event: E,
        /,
        *,
        delay: Duration | datetime | None = None,
        expires: Duration | None = None,
        headers: Mapping[str, str] | None = None,
        locked: bool = False,
        settles: LedgerEntry | None = None,
    ) -> Coroutine[Any, Any, Message[E]]: ...
    def publish(
        self,
        tx: Any,
        event: Any,
        /,
        *,
        delay: Duration | datetime | None = None,
        expires: Duration | None = None,
        headers: Mapping[str, str] | None = None,
        locked: bool = False,
        settles: LedgerEntry | None = None,
    ) -> Any:
        """Publish with the caller's commit. On an AsyncConnection: await it.

        What becomes of the message settles the ledger's entry, if one is given.
        """
        if settles is not None and not isinstance(settles, LedgerEntry):
            name = type(settles).__name__
            raise InvalidOption("publish(settles)", name, "pass the entry: accepted.entry.")
        published = self.application("publish").publishing.one(
            tx,
            event,
            self.name,
            delay=delay,
            expires=expires,
            headers=headers,
            locked=locked,
            settles=settles,
        )
        if settles is not None:
            settles.note_message()
        return published

    @overload
    def publish_all(
        self,
        tx: SyncTx,
        events: Iterable[Event],
        /,
        *,
        delay: Duration | datetime | None = None,
        expires: Duration | None = None,
        locked: bool = False,
    ) -> list[Message[Any]]: ...
    @overload
    def publish_all(
        self,
        tx: AsyncTx,
        events: Iterable[Event],
        /,
        *,
        delay: Duration | datetime | None = None,
        expires: Duration | None = None,
        locked: bool = False,
    ) -> Coroutine[Any, Any, list[Message[Any]]]: ...
    def publish_all(
        self,
        tx: Any,
        events: Iterable[Event],
        /,
        *,
        delay: Duration | datetime | None = None,
        expires: Duration | None = None,
        locked: bool = False,
    ) -> Any:
        """Publish many with one INSERT; if one is refused, none is written."""
        return self.application("publish_all").publishing.many(
            tx, events, self.name, delay=delay, expires=expires, locked=locked
        )

    def job(
        self,
        *,
        name: str | None = None,
        queue: str | None = None,
        retry: Backoff | str | None = None,
        timeout: Duration | None = None,
        on_crash: OnCrash = "retry",
        limit: Limit | Rate | Sequence[Limit | Rate] | None = None,
        breaker: Breaker | None = None,
        priority: int = 0,
        executor: Executor = "thread",
        aliases: Sequence[str] = (),
        keep_successes: int | None = None,
    ) -> JobDecorator:
        """Work for later: `def` in a thread, `async def` on the event loop.

        The first parameter takes the argument, the others are injected.
        """
        options = {"name": name, "queue": queue, "retry": retry or self._retry, "timeout": timeout}
        more = {"on_crash": on_crash, "limit": limit, "breaker": breaker, "priority": priority}
        told = {**options, **more, "executor": executor, "aliases": tuple(aliases)}
        told["keep_successes"] = keep_successes

        def register(function: Any) -> Any:
            check_function(function, f"@{self.name}.job")
            job: Job[Any, Any] = Job(function, self, dict(told))
            self.declared_jobs.append(job)
            return job

        return register

    @overload
    def enqueue(self, tx: SyncTx, plan: Plan | Call[Any], /) -> BatchRef: ...
    @overload
    def enqueue(self, tx: AsyncTx, plan: Plan | Call[Any], /) -> Coroutine[Any, Any, BatchRef]: ...
    def enqueue(self, tx: Any, plan: Plan | Call[Any], /) -> Any:
        """Enqueue a chain or a batch, if and only if the caller's transaction commits."""
        return self.application("enqueue").enqueuing.plan(tx, plan, self.name)

    @overload
    def schedule(self, job: Job[None, Any], /, **options: Unpack[ByCron]) -> None: ...
    @overload
    def schedule(self, job: Job[None, Any], /, **options: Unpack[ByInterval]) -> None: ...
    @overload
    def schedule(
        self, job: Job[A, Any], argument: A | Callable[[Tick], A], /, **options: Unpack[ByCron]
    ) -> None: ...
    @overload
    def schedule(
        self, job: Job[A, Any], argument: A | Callable[[Tick], A], /, **options: Unpack[ByInterval]
    ) -> None: ...
    def schedule(self, job: Any, argument: Any = ABSENT, /, **options: Any) -> None:
        """Enqueue a job again and again, by `cron` or `every` so often; once per tick.

        Its argument is a value, or made of the tick. `jobs.schedule.<name>` overrides this.
        """
        wish = wish_of(job, argument, options, f"{self.name}.schedule")
        self.declared_schedules.append(wish)

    def join(self, app: Todoke) -> None:
        """Become part of an application: its modules are imported now."""
        self._app = app
        for module in self._modules:
            self._import(f"{self._package}.{module}" if self._package else module)

    @property
    def declarations(self) -> int:
        """How much was declared so far."""
        return len(self.wishes) + len(self.declared_jobs) + len(self.declared_schedules)

    def _import(self, module: str) -> None:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise InvalidOption(
                f"Context({self.name!r}, modules)",
                module,
                "there is no such module. Name those that lie beside the context.",
            ) from error

    def _classes(self, publishes: Sequence[type[Event]]) -> tuple[type[Event], ...]:
        if not isinstance(publishes, list | tuple):
            name = getattr(publishes, "__name__", publishes)
            raise InvalidOption(f"@{self.name}.on(publishes)", name, f"write [{name}].")
        return tuple(publishes)

    def _provider_context(self) -> str | None:
        return self.name

    def application(self, call: str) -> Todoke:
        """Whose part it is; refuses what was not included."""
        if self._app is None:
            raise ContextNotIncluded(self.name, call)
        return self._app


def _of_caller(word: str) -> str:
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("todoke."):
        frame = frame.f_back
    return str(frame.f_globals.get(word) or "") if frame is not None else ""
