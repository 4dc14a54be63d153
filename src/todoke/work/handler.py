"""A handler as the worker needs it: what it takes, how it is tried, what it does after a crash."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_origin, get_type_hints

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from todoke.errors import ErrorClass, InvalidOption, WrongSession
from todoke.limits import Bounds
from todoke.message import Event, Message
from todoke.outcome import Outcome
from todoke.retry import Backoff
from todoke.work.attempt import Attempt
from todoke.work.strand import DEFAULT_QUEUE, stream_name

OnCrash: TypeAlias = Literal["retry", "ask"]
Answer: TypeAlias = Outcome | Event | Sequence[Event] | None
"""What a handler may answer: an outcome, events to publish, or nothing."""
CallNext: TypeAlias = Callable[[Attempt], Coroutine[Any, Any, Outcome]]
Middleware: TypeAlias = Callable[[Attempt, CallNext], Coroutine[Any, Any, Outcome]]
Classifier: TypeAlias = ErrorClass | Callable[[Any], ErrorClass]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One injected parameter of a function."""

    name: str
    kind: Any


@dataclass(frozen=True, eq=False)
class Handler:
    """Takes messages of its events; everything beyond the first parameter is injected."""

    name: str
    context: str
    function: Callable[..., Any]
    events: tuple[type[Event], ...]
    parameters: tuple[Parameter, ...]
    is_async: bool
    retry: Backoff
    timeout: float
    on_crash: OnCrash
    queue: str = DEFAULT_QUEUE
    followers: str | None = None
    bounds: Bounds | None = None
    middleware: tuple[Middleware, ...] = ()
    classifiers: tuple[tuple[type[BaseException], Classifier], ...] = ()
    publishes: tuple[type[Event], ...] | None = None
    session_parameter: str | None = field(default=None)

    @cached_property
    def injected(self) -> tuple[Parameter, ...]:
        """What it asks for beside its event and its session."""
        return tuple(one for one in self.parameters if one.name != self.session_parameter)

    @cached_property
    def stream(self) -> str:
        """Where its deliveries lie; what goes to a destination lies apart."""
        destination = self.bounds.destination if self.bounds else None
        return stream_name(self.context, self.queue, destination)

    @cached_property
    def asks(self) -> bool:
        """A person is asked where its outcome is unknown; with a session it never is."""
        return self.on_crash == "ask" and self.session_parameter is None

    @property
    def ends_itself(self) -> bool:
        """It is interrupted at its limit, wherever it runs; only one that blocks is given up."""
        return self.is_async

    @property
    def where(self) -> str:
        """How a message names it: handler 'order-mail' (shop/handlers.py:12)."""
        return f"handler {self.name!r} ({place(self.function)})"


def place(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def check_function(function: Any, owner: str) -> None:
    """A handler is a function that returns: what yields, or is a class, would never run."""
    if isinstance(function, type) or not callable(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise InvalidOption(owner, name, "is no function. Write it above a `def` or `async def`.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidOption(
            f"{owner} ({place(function)})",
            function.__name__,
            "a handler does not yield. Return the events it publishes, as a list.",
        )


def hints_of(function: Callable[..., Any], owner: str) -> dict[str, Any]:
    """Its annotations as types; one that only a type checker sees is refused."""
    try:
        return get_type_hints(function)
    except NameError as error:
        raise InvalidOption(
            owner,
            error.name,
            "an annotation names it, and it is not there when the program runs. Import it outside "
            "of `if TYPE_CHECKING:`.",
        ) from error


def parameters_of(function: Callable[..., Any], owner: str) -> list[Parameter]:
    """Every parameter with its annotation; one without is refused."""
    hints = hints_of(function, owner)
    found: list[Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InvalidOption(owner, f"*{name}", "parameters are injected one by one, by type.")
        if found and parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidOption(owner, name, "is injected by name. Put the `/` before it.")
        if name not in hints and parameter.default is parameter.empty:
            raise InvalidOption(owner, name, "a parameter needs an annotation to be injected.")
        if name in hints:
            found.append(Parameter(name, _plain(hints[name])))
    return found


def _plain(hint: Any) -> Any:
    """`Message[OrderPlaced]` asks for a Message like any other."""
    return Message if get_origin(hint) is Message else hint


def session_parameter(
    parameters: tuple[Parameter, ...], owner: str, *, is_async: bool
) -> str | None:
    """The parameter that takes the session; the wrong kind of session is refused."""
    for parameter in parameters:
        if parameter.kind is (Session if is_async else AsyncSession):
            raise WrongSession(owner, is_async)
    own = AsyncSession if is_async else Session
    asked = [parameter.name for parameter in parameters if parameter.kind is own]
    if len(asked) > 1:
        raise InvalidOption(owner, asked, "one session is enough: it is one transaction.")
    return asked[0] if asked else None
