"""How an attempt in a child process ended, as a message; and what its worker makes of that."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from todoke.duration import Duration, seconds
from todoke.errors import BusinessError, InvalidEvent, PermanentError, TransientError
from todoke.identity import screaming
from todoke.jobs.address import SCRIPT
from todoke.message import Event
from todoke.outcome import Done, Outcome, Reject, Retry, Skip, Snooze

_LONGEST_TEXT = 20_000

_Kind = Literal["permanent", "business", "transient", "timeout", "other"]


class FailedInProcess(Exception):
    """What a job raised in its child process, where it is of a class of the user's own."""

    def __init__(self, text: str, code: str | None) -> None:
        super().__init__(text)
        self.code: str | None = code


# --- errors ----------------------------------------------------------------------------------


def tell_error(error: BaseException) -> dict[str, Any]:
    text = _text(error) or type(error).__name__
    return {
        "kind": "error",
        "class": _kind(error),
        "text": text[:_LONGEST_TEXT],
        "code": _code(error),
        "after": _plain_duration(getattr(error, "after", None)),
        "publish": _tell_event(getattr(error, "publish", None)),
        "lineage": [f"{one.__module__}.{one.__qualname__}" for one in type(error).__mro__],
        "traceback": "".join(traceback.format_exception(error))[-_LONGEST_TEXT:],
    }


def error_from(message: Mapping[str, Any]) -> BaseException:
    """An error of the same class, text and code; the child's traceback is its note."""
    error = _rebuilt(message)
    if message["publish"] is not None and getattr(error, "publish", None) is None:
        error.add_note(f"The worker does not know its event {message['publish']['name']}.")
    error.add_note(f"In its process:\n{message['traceback']}")
    return error


def _rebuilt(message: Mapping[str, Any]) -> BaseException:
    text, code = message["text"], message["code"]
    match message["class"]:
        case "permanent":
            return PermanentError(text, code=code)
        case "business":
            return BusinessError(text, code=code, publish=_event_from(message["publish"]))
        case "transient":
            return TransientError(text, code=code, after=_duration(message["after"]))
        case "timeout":
            error = TimeoutError(text)
            error.code = code  # type: ignore[attr-defined]
            return error
    return FailedInProcess(text, code)


def _kind(error: BaseException) -> _Kind:
    match error:
        case PermanentError() | InvalidEvent():
            return "permanent"
        case BusinessError():
            return "business"
        case TransientError():
            return "transient"
        case TimeoutError():
            return "timeout"
    return "other"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as worse:
        return f"{type(error).__name__}, which cannot be told: {type(worse).__name__}"


def _code(error: BaseException) -> str | None:
    # SQLAlchemy's `code` is the address of a page of its manual.
    own = None if isinstance(error, SQLAlchemyError) else getattr(error, "code", None)
    if isinstance(own, str) and own:
        return own
    return None if type(error) is TimeoutError else screaming(type(error).__name__)


def _plain_duration(value: object) -> str | float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value if isinstance(value, str) else None


def _duration(value: object) -> Duration | None:
    if isinstance(value, int | float):
        return timedelta(seconds=value)
    return value if isinstance(value, str) else None


# --- the event of a BusinessError --------------------------------------------------------------


def _tell_event(event: object) -> dict[str, str] | None:
    if not isinstance(event, Event):
        return None
    kind = type(event)
    return {"module": kind.__module__, "name": kind.__qualname__, "data": event.model_dump_json()}


def _event_from(told: Mapping[str, str] | None) -> Event | None:
    if told is None:
        return None
    # Nothing is imported here: an event that its worker does not know, nobody could publish.
    module = "__main__" if told["module"] == SCRIPT else told["module"]
    kind: Any = sys.modules.get(module)
    for part in told["name"].split("."):
        kind = getattr(kind, part, None)
    if not (isinstance(kind, type) and issubclass(kind, Event)):
        return None
    try:
        return kind.model_validate_json(told["data"])
    except ValidationError:
        return None


# --- outcomes --------------------------------------------------------------------------------


def tell_outcome(outcome: Outcome) -> dict[str, Any]:
    """All but the result of Done, which goes as text of its own."""
    match outcome:
        case Retry(after):
            wait = None if after is None else seconds(after)
            return _told("retry", after=wait, reason=outcome.reason, code=outcome.code)
        case Snooze(until):
            then = until.isoformat() if isinstance(until, datetime) else seconds(until)
            return _told("snooze", until=then, reason=outcome.reason)
        case Reject(reason):
            return _told("reject", reason=reason, code=outcome.code)
        case Skip(reason):
            return _told("skip", reason=reason)
        case Done():
            return _told("done")


def outcome_from(message: Mapping[str, Any]) -> Outcome:
    match message["outcome"]:
        case "retry":
            after = _duration(message["after"])
            return Retry(after, reason=message["reason"], code=message["code"])
        case "snooze":
            until = message["until"]
            then = datetime.fromisoformat(until) if isinstance(until, str) else _wait(until)
            return Snooze(then, reason=message["reason"])
        case "reject":
            return Reject(message["reason"], code=message["code"])
        case "skip":
            return Skip(message["reason"])
    return Done()


def _wait(value: float) -> timedelta:
    return timedelta(seconds=value)


def _told(name: str, **parts: object) -> dict[str, Any]:
    return {"kind": "outcome", "outcome": name, **parts}
