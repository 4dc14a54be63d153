"""Arguments and results: typed in Python, strict JSON in the database."""

from __future__ import annotations

from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from todoke import codec
from todoke.errors import InvalidArgument
from todoke.message import told
from todoke.outcome import Done, Reject, Retry, Skip, Snooze

NOTHING = "null"
OUTCOMES = (Done, Retry, Snooze, Reject, Skip)


class Shape:
    """What one type looks like as text."""

    def __init__(self, kind: Any) -> None:
        self.kind: Any = kind
        self._adapter: TypeAdapter[Any] = _adapter(kind)
        self._plain = kind if isinstance(kind, type) else None

    def dump(self, value: Any, job: str, max_bytes: int) -> str:
        """Canonical text; a value of another type is refused."""
        try:
            if type(value) is not self._plain:
                value = self._adapter.validate_python(value)
            text = codec.dump(self._adapter.serializer.to_python(value, mode="json"))
        except ValidationError as error:
            raise InvalidArgument(job, told(error)) from None
        except (codec.NotStrict, PydanticSerializationError, ValueError) as error:
            raise InvalidArgument(job, str(error)) from error
        # No character has more than four bytes: most texts need not be counted.
        if 4 * len(text) > max_bytes and (size := len(text.encode())) > max_bytes:
            raise InvalidArgument(job, f"{size:,} bytes, payload.max_bytes is {max_bytes:,}")
        return text

    def load(self, text: str) -> Any:
        """The value; raises pydantic's ValidationError for what does not fit."""
        return self._adapter.validate_json(text)


def _adapter(kind: Any) -> TypeAdapter[Any]:
    try:
        # Not a number stays one, to be refused: pydantic would write null instead.
        return TypeAdapter(kind, config=ConfigDict(ser_json_inf_nan="constants"))
    except PydanticUserError:  # a model has a configuration of its own
        return TypeAdapter(kind)


def without_outcomes(kind: Any) -> Any:
    """The result of a job that may also answer an outcome: `Path | Snooze` is a Path."""
    if get_origin(kind) not in (Union, UnionType):
        return None if kind in OUTCOMES else kind
    results = tuple(one for one in get_args(kind) if one not in OUTCOMES)
    return Union[results] if results else None  # noqa: UP007
