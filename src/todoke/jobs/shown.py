"""Arguments and results as people may see them: what is marked Personal is hidden."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel

from todoke.jobs.handler import JobHandler
from todoke.message import PersonalMark

HIDDEN = "***"


def hidden_argument(handler: JobHandler, data: Any) -> Any:
    """The argument of a job, as read from its JSON, without what is personal."""
    if handler.argument is None:
        return data
    function = handler.job.function
    first = next(iter(inspect.signature(function).parameters))
    return hidden(_hints(function).get(first, handler.argument.kind), data)


def hidden_result(handler: JobHandler, data: Any) -> Any:
    return hidden(_hints(handler.job.function).get("return", handler.result.kind), data)


def hidden(kind: Any, data: Any) -> Any:
    """Data of a type, with every part hidden that the type marks as Personal."""
    kind = getattr(kind, "__supertype__", getattr(kind, "__value__", kind))
    if data is None:
        return None
    if get_origin(kind) is Annotated:
        inner, *marks = get_args(kind)
        return HIDDEN if PersonalMark in marks else hidden(inner, data)
    try:
        fields = _fields(kind)
    except NameError:  # of a class whose annotations nobody can read: all of it may be personal
        return HIDDEN
    if fields is not None and isinstance(data, dict):
        return {name: hidden(fields.get(name, Any), value) for name, value in data.items()}
    for part in get_args(kind):
        data = _hidden_parts(kind, part, data)
    return data


def _hidden_parts(kind: Any, part: Any, data: Any) -> Any:
    """By one part of a union, a list or a mapping; whichever of them the data is."""
    origin = get_origin(kind)
    if not isinstance(origin, type) or not issubclass(
        origin, list | tuple | set | frozenset | dict
    ):
        return hidden(part, data)
    if isinstance(data, list):
        return [hidden(part, one) for one in data]
    if isinstance(data, dict):
        return {name: hidden(part, one) for name, one in data.items()}
    return data


def _fields(kind: Any) -> dict[str, Any] | None:
    """The types of its fields, by all names they may be written with."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return dict(_of_model(kind))
    if isinstance(kind, type) and (is_dataclass(kind) or is_typeddict(kind)):
        return _hints(kind)
    return None


def _of_model(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    for name, info in model.model_fields.items():
        kind: Any = info.annotation
        if PersonalMark in info.metadata:
            kind = Annotated[Any, PersonalMark]
        for known in (name, info.alias, info.serialization_alias):
            if known is not None:
                yield known, kind


def _hints(owner: Any) -> dict[str, Any]:
    return get_type_hints(owner, include_extras=True)
