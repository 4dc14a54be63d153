"""Giving functions what their annotations ask for.

Providers make values once per process, or anew for each attempt; a generator's part after the
`yield` runs when the value is no longer needed. Async providers run on the worker's event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from todoke.errors import InvalidOption, UnknownDependency
from todoke.fork import after_fork
from todoke.work.handler import Parameter, hints_of, parameters_of, place

Scope = Literal["process", "attempt"]


@dataclass(frozen=True, eq=False)
class Provider:
    """A function that makes values of one type."""

    kind: Any
    function: Callable[..., Any]
    scope: Scope
    context: str | None
    parameters: tuple[Parameter, ...]

    @property
    def where(self) -> str:
        return f"provider {self.function.__name__!r} ({place(self.function)})"


def provider(function: Callable[..., Any], scope: Scope, context: str | None) -> Provider:
    if not callable(function):
        raise InvalidOption("provide", function, "pass a function that returns or yields a value.")
    owner = f"provider {function.__name__!r} ({place(function)})"
    if scope not in ("process", "attempt"):
        raise InvalidOption(owner, scope, 'scope is "process" or "attempt".')
    made = hints_of(function, owner).get("return")
    if get_origin(made) in (AsyncIterator, Iterator) or _is_generator(made):
        made = next(iter(get_args(made)), None)
    if made in (None, NoneType):
        raise InvalidOption(owner, "->", "say by a return annotation what it provides.")
    return Provider(made, function, scope, context, tuple(parameters_of(function, owner)))


def _is_generator(kind: Any) -> bool:
    return getattr(get_origin(kind), "__name__", "") in ("Generator", "AsyncGenerator")


class Providers:
    """All providers of an application, and the values of this process."""

    def __init__(
        self,
        known: Mapping[Any, Any],
        declared: Callable[[], Iterable[Provider]],
        loop: Callable[[], asyncio.AbstractEventLoop],
    ) -> None:
        self._known, self._declared, self._loop = dict(known), declared, loop
        self._renew()
        after_fork(self, Providers._renew)

    def _renew(self) -> None:
        self._values: dict[Provider, Any] = {}
        self._stack: AsyncExitStack | None = None
        self._lock = threading.RLock()

    def override(self, kind: Any, value: Any) -> None:
        self._known[kind] = value

    def check(
        self,
        parameters: Iterable[Parameter],
        context: str | None,
        owner: str,
        asking: tuple[Provider, ...] = (),
    ) -> None:
        """Refuse at start what could not be given later."""
        for parameter in parameters:
            if parameter.kind in self._known:
                continue
            found = self._find(parameter.kind, context)
            if found is None:
                raise UnknownDependency(owner, parameter.name, _name(parameter.kind), self._names())
            if found in asking:
                ring = [*asking[asking.index(found) :], found]
                names = " -> ".join(one.function.__name__ for one in ring)
                raise InvalidOption(
                    owner,
                    parameter.name,
                    f"providers ask for each other in a ring: {names}. Make one without the other.",
                )
            self.check(found.parameters, found.context, found.where, (*asking, found))
            if found.scope == "process" and self.needs_attempt_scope(
                found.parameters, found.context
            ):
                raise InvalidOption(
                    found.where,
                    "process",
                    'it asks for what lives for one attempt only. Say scope="attempt" here, too.',
                )

    def needs_attempt_scope(self, parameters: Iterable[Parameter], context: str | None) -> bool:
        found = [self._find(parameter.kind, context) for parameter in parameters]
        return any(one is not None and one.scope == "attempt" for one in found)

    def process_values(
        self, parameters: Iterable[Parameter], context: str | None
    ) -> dict[str, Any]:
        """Values that live as long as the process, made on the first call.

        Never called on the event loop, which has to be free to make them.
        """
        values = {}
        with self._lock:
            for parameter in parameters:
                found = self._find(parameter.kind, context)
                if parameter.kind in self._known or found is None or found.scope == "process":
                    values[parameter.name] = self._value(parameter.kind, context)
                else:
                    self.process_values(found.parameters, found.context)
        return values

    async def attempt_values(
        self, stack: AsyncExitStack, parameters: Iterable[Parameter], context: str | None
    ) -> dict[str, Any]:
        """Values for one attempt, after `process_values`; the stack ends them."""
        values = {}
        for parameter in parameters:
            found = self._find(parameter.kind, context)
            if parameter.kind in self._known or found is None:
                values[parameter.name] = self._known[parameter.kind]
            elif found.scope == "process":
                values[parameter.name] = self._values[found]
            else:
                inner = await self.attempt_values(stack, found.parameters, found.context)
                values[parameter.name] = await stack.enter_async_context(_open(found, inner))
        return values

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run on the event loop and wait, from any other thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop()).result()

    def close(self) -> None:
        """End all values of the process, last made first."""
        if (stack := self.abandon()) is not None:
            self.run(stack.aclose())

    def abandon(self) -> AsyncExitStack | None:
        """Forget the values without ending them, as if their process had died."""
        with self._lock:
            stack, self._stack = self._stack, None
            self._values.clear()
        return stack

    def _value(self, kind: Any, context: str | None) -> Any:
        if kind in self._known:
            return self._known[kind]
        found = self._find(kind, context)
        if found is None:
            raise UnknownDependency(f"context {context!r}", "…", _name(kind), self._names())
        if found not in self._values:
            self._values[found] = self._make(found)
        return self._values[found]

    def _make(self, found: Provider) -> Any:
        inner = {
            parameter.name: self._value(parameter.kind, found.context)
            for parameter in found.parameters
        }
        if self._stack is None:
            self._stack = AsyncExitStack()
        return self.run(self._stack.enter_async_context(_open(found, inner)))

    def _find(self, kind: Any, context: str | None) -> Provider | None:
        fitting = [one for one in self._declared() if one.kind == kind]
        own = [one for one in fitting if one.context == context]
        shared = [one for one in fitting if one.context is None]
        return next(iter((own or shared)[-1:]), None)

    def _names(self) -> list[str]:
        return [_name(kind) for kind in self._known] + [_name(one.kind) for one in self._declared()]


@asynccontextmanager
async def _open(found: Provider, values: dict[str, Any]) -> AsyncIterator[Any]:
    function = found.function
    if inspect.isasyncgenfunction(function):
        async with asynccontextmanager(function)(**values) as value:
            yield value
    elif inspect.isgeneratorfunction(function):
        with contextmanager(function)(**values) as value:
            yield value
    elif inspect.iscoroutinefunction(function):
        yield await function(**values)
    else:
        yield function(**values)


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
