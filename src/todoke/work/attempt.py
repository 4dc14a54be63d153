"""What the worker tells a handler about this try."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from todoke.message import Message
from todoke.telemetry import log as telemetry_log


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
        """A logger that says which message and attempt a line belongs to."""
        told = {
            "message_id": str(self.message.id),
            "handler": self.name,
            "attempt": self.number,
            "trace_id": self.trace_id,
        }
        return logging.LoggerAdapter(telemetry_log.getChild("handler"), told)

    def check(self) -> None:
        """Raises LeaseLost when this attempt may not write any more; call it in long loops."""
        self._check()
