"""Events and arguments as text: what a reader of a body leans on, without what only checks it.

    order_id          integer
    items             [object]
    items[].article   string
    items[].count     integer (optional)

Limits such as a longest text are left out: they say which values are taken, not how they are
written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema

from todoke.message import Event

OPTIONAL = " (optional)"

_Schema = Mapping[str, Any]


def fields_of(event: type[Event]) -> dict[str, str]:
    """Each field with its type, those of inner models by their path; a default makes optional."""
    try:
        schema = event.model_json_schema(by_alias=False)
    except PydanticInvalidForJsonSchema:
        # A type of the user's own, which only Python can name.
        return {
            name: _with_default(str(info.annotation), info.is_required())
            for name, info in event.model_fields.items()
        }
    return _Shape(schema).fields


def shape_of(kind: Any) -> tuple[str, dict[str, str]]:
    """A type as a whole, and the fields of models in it by their path."""
    try:
        schema = TypeAdapter(kind).json_schema(by_alias=False)
    except PydanticInvalidForJsonSchema:
        return str(kind), {}
    shape = _Shape(schema)
    return shape.text, shape.fields


def around(path: str) -> str:
    """The field that an inner one lies in: `items` for `items[].count`, nothing for `items`."""
    return re.sub(r"(\[\]|\(\w+\)|\.\*)+$", "", path.rpartition(".")[0])


class _Shape:
    """Walks through a schema and notes what it meets."""

    def __init__(self, schema: _Schema) -> None:
        self.fields: dict[str, str] = {}
        self._known: _Schema = schema.get("$defs", {})
        self.text: str = self._text(schema, "", ())

    def _object(self, schema: _Schema, path: str, inside: tuple[str, ...]) -> str:
        required = schema.get("required", ())
        for name, one in schema.get("properties", {}).items():
            inner = f"{path}.{name}" if path else name
            kind = self._text(one, inner, inside)
            self.fields[inner] = _with_default(kind, name in required)
        if isinstance(more := schema.get("additionalProperties"), Mapping):
            return f"{{{self._text(more, f'{path}.*', inside)}}}"
        return "object"

    def _text(self, schema: _Schema, path: str, inside: tuple[str, ...]) -> str:
        match schema:
            case {"$ref": reference}:
                text = self._named(str(reference).rpartition("/")[2], path, inside)
            case {"const": value}:
                text = json.dumps(value)
            case {"enum": values}:
                text = " | ".join(map(json.dumps, values))
            case {"anyOf": parts} | {"oneOf": parts} | {"allOf": parts}:
                text = self._either(parts, path, inside)
            case {"type": "array", "prefixItems": parts}:
                inner = [self._text(one, f"{path}({i})", inside) for i, one in enumerate(parts)]
                text = f"[{', '.join(inner)}]"
            case {"type": "array"}:
                text = f"[{self._text(schema.get('items', {}), f'{path}[]', inside)}]"
            case {"type": "object"}:
                text = self._object(schema, path, inside)
            case {"type": kind, "format": form}:
                text = f"{kind} {form}"
            case _:
                text = str(schema.get("type", "any"))
        return text

    def _named(self, name: str, path: str, inside: tuple[str, ...]) -> str:
        if name in inside:
            return name
        return self._text(self._known[name], path, (*inside, name))

    def _either(self, parts: list[_Schema], path: str, inside: tuple[str, ...]) -> str:
        models = [one for one in parts if "$ref" in one]
        if len(models) < 2:
            return " | ".join(sorted({self._text(one, path, inside) for one in parts}))
        # Fields of several models must not be taken for each other.
        texts = {self._text(one, path, inside) for one in parts if one not in models}
        for one in models:
            name = one["$ref"].rpartition("/")[2]
            texts.add(f"{name}: {self._text(one, f'{path}({name})', inside)}")
        return " | ".join(sorted(texts))


def _with_default(kind: str, required: bool) -> str:
    return kind if required else kind + OPTIONAL
