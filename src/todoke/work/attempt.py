"""What the worker tells a handler about this try."""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from todoke.message import Message
from todoke.telemetry import log as telemetry_log


class _Telling(logging.LoggerAdapter[logging.Logger]):
    """Keeps the fields of a line beside its own; until Python 3.13 one of them is lost."""

    def process(
        self, message: Any, options: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        own = self.extra or {}
        return message, {**options, "extra": {**own, **(options.get("extra") or {}), **own}}


@dataclass(slots=True)
class Attempt:
    """One try at one message by one handler."""

    number: int
    of: int | None
    name: str
    message: Message[Any]
    deadline: datetime
    _check: Callable[[], None] = field(default=lambda: None, repr=False)

    @property
    def idempotency_key(self) -> str:
        """The same on every attempt of this message by this handler."""
        return f"{self.message.id}/{self.name}"

    @property
    def trace_id(self) -> str:
        return self.message.trace_id

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that says which message and attempt a line belongs to; `extra` adds to that."""
        told = {
            "message_id": str(self.message.id),
            "handler": self.name,
            "attempt": self.number,
            "trace_id": self.trace_id,
        }
        return _Telling(telemetry_log.getChild("handler"), told)

    def check(self) -> None:
        """Raises LeaseLost when this attempt may not write any more; call it in long loops."""
        self._check()
