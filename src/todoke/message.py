"""Events as users declare them, and the message an event travels in (CloudEvents by its fields)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from todoke.duration import Duration, duration
from todoke.errors import InvalidEvent, InvalidOption, NullKey
from todoke.identity import kebab

T = TypeVar("T")
E_co = TypeVar("E_co", covariant=True)

Followers = Literal["park", "skip", "block"]


_KEYWORDS = "type, version, context, aggregate, ordered, followers, expires"


class KeyMark:
    """Marks the field by which events are ordered and partitioned."""


class PersonalMark:
    """Marks a field that is masked wherever people look."""


Key = Annotated[T, KeyMark]
Personal = Annotated[T, PersonalMark]


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the class statement said about an event."""

    type: str
    version: int = 1
    context: str | None = None
    aggregate: str | None = None
    ordered: bool = True
    followers: Followers = "park"
    expires: timedelta | None = None
    key_field: str | None = None

    @property
    def kind(self) -> str:
        """context/type, or */type where the context is that of who publishes it."""
        return f"{self.context or '*'}/{self.type}"

    def key_of(self, event: Event) -> str | None:
        """The event's key; None where the event asks for no order and has none."""
        if self.key_field is None:
            if self.ordered:
                raise InvalidEvent(
                    f"publish({type(event).__name__}): the event has no key. Mark the field of its "
                    "aggregate as `Key[...]`, or declare the class with `ordered=False`."
                )
            return None
        value = getattr(event, self.key_field)
        if value is None or value == "":
            raise NullKey(type(event).__name__, self.key_field)
        key = str(value)
        if len(key) > 255:
            raise InvalidEvent(
                f"publish({type(event).__name__}): its key `{self.key_field}` has {len(key)} "
                "characters, the limit is 255. Use the aggregate's id."
            )
        if "\0" in key or not _is_writable(key):
            raise InvalidEvent(
                f"publish({type(event).__name__}): its key `{self.key_field}` holds a character "
                "that no database keeps. Use the aggregate's id."
            )
        return key


def _is_writable(text: str) -> bool:
    """No half characters, which no encoding has."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Event(BaseModel):
    """Something that happened; any number of handlers may care.

    Class keywords: type, version, context, aggregate, ordered, followers, expires. Context,
    aggregate and the policies are inherited; the type is the class name in kebab case.
    """

    # Not a number stays one, to be refused: pydantic would write null where a field takes anything.
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, ser_json_inf_nan="constants")
    declared: ClassVar[Declaration] = Declaration("event")

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(cls, **keywords: Any) -> None:
        cls.declared = _declare(cls, **keywords)


@dataclass(frozen=True, slots=True)
class Message(Generic[E_co]):
    """An event in its envelope."""

    id: UUID
    type: str
    version: int
    context: str
    aggregate: str
    key: str
    data: E_co
    created_at: datetime
    headers: Mapping[str, str] = field(default_factory=dict)
    trace_context: str | None = None

    @property
    def trace_id(self) -> str:
        """The trace's id, or the message's own where nobody traces."""
        parts = (self.trace_context or "").split("-")
        return parts[1] if len(parts) == 4 else self.id.hex


def told(error: ValidationError) -> str:
    """What is wrong with a body, field by field, without what was in it."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}"
        for one in error.errors(include_input=False, include_url=False)
    )


def mask(model: type[BaseModel], data: Any) -> Any:
    """The same data with every field marked Personal hidden."""
    if not isinstance(data, dict):
        return data
    return {name: _masked(model.model_fields.get(name), value) for name, value in data.items()}


def _masked(info: FieldInfo | None, value: Any) -> Any:
    if info is None or value is None:
        return value
    if _marked(info, PersonalMark):
        return "***"
    models = [kind for kind in _kinds(info.annotation) if _is_model(kind)]
    return _masked_by(models, value) if models else value


def _masked_by(models: list[type[BaseModel]], value: Any) -> Any:
    """Whichever of the models it is: one, a list of them, or a mapping to them."""
    if isinstance(value, list):
        return [_masked_by(models, one) for one in value]
    if not isinstance(value, dict):
        return value
    fitting = [model for model in models if model.model_fields.keys() & value.keys()]
    if not fitting:
        return {name: _masked_by(models, one) for name, one in value.items()}
    for model in fitting:
        value = mask(model, value)
    return value


def _declare(
    cls: type[Event],
    *,
    type: str | None = None,
    version: int = 1,
    context: str | None = None,
    aggregate: str | None = None,
    ordered: bool | None = None,
    followers: Followers | None = None,
    expires: Duration | None = None,
    **unknown: object,
) -> Declaration:
    if unknown:
        raise InvalidOption(
            f"class {cls.__name__}", sorted(unknown), f"no such keyword. Known: {_KEYWORDS}."
        )
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidOption(f"class {cls.__name__}: version", version, "a whole number from 1 on.")
    if "declared" in cls.model_fields:
        raise InvalidOption(
            f"class {cls.__name__}", "declared", "todoke keeps the declaration there. Rename it."
        )
    inherited = cls.__mro__[1].declared if issubclass(cls.__mro__[1], Event) else cls.declared
    name = type or kebab(cls.__name__)
    for option, given in {"type": name, "context": context, "aggregate": aggregate}.items():
        if len(given or "") > 100:
            raise InvalidOption(f"class {cls.__name__}: {option}", given, "at most 100 characters.")
    if "/" in (context or ""):
        raise InvalidOption(f"class {cls.__name__}: context", context, 'has no "/".')
    if followers not in (None, "park", "skip", "block"):
        raise InvalidOption(f"class {cls.__name__}: followers", followers, "park, skip or block.")
    return Declaration(
        type=name,
        version=version,
        context=context or inherited.context,
        aggregate=aggregate or inherited.aggregate,
        ordered=inherited.ordered if ordered is None else ordered,
        followers=followers or inherited.followers,
        expires=inherited.expires if expires is None else duration(expires, "expires"),
        key_field=_key_field(cls),
    )


def _key_field(cls: type[Event]) -> str | None:
    marked = [name for name, info in cls.model_fields.items() if _marked(info, KeyMark)]
    if len(marked) > 1:
        raise InvalidOption(
            f"class {cls.__name__}: Key", marked, "one field is the key. Mark one of them."
        )
    return marked[0] if marked else None


def _marked(info: FieldInfo, mark: type) -> bool:
    return mark in info.metadata or mark in _kinds(info.annotation)


def _kinds(annotation: Any) -> list[Any]:
    """Everything an annotation is made of: unions, lists and Annotated taken apart."""
    if get_origin(annotation) is None:
        return [annotation]
    return [kind for part in get_args(annotation) for kind in _kinds(part)]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
