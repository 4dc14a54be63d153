"""Each attempt in the log, with fields that can be searched for."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from shop.brokerage.adapter import AdapterFailed, AdapterRefused
from todoke import Attempt

_log = logging.getLogger("shop.brokerage")


@contextmanager
def told(attempt: Attempt, client_key: str, adapter: str) -> Iterator[None]:
    """Tells how the attempt begins and ends; an error of another kind becomes AdapterFailed."""
    line = _Line(attempt, client_key, adapter)
    line.write(logging.INFO, "PROCESSING")
    try:
        yield
    except AdapterRefused as refused:
        line.write(logging.WARNING, "DEAD", refused.code)
        raise
    except AdapterFailed as failed:
        line.write(logging.WARNING, line.after_failure, failed.code)
        raise
    except Exception as error:
        unknown = AdapterFailed(f"the adapter {adapter} failed: {type(error).__name__}")
        line.write(logging.ERROR, line.after_failure, unknown.code)
        raise unknown from error
    line.write(logging.INFO, "PROCESSED")


class _Line:
    def __init__(self, attempt: Attempt, client_key: str, adapter: str) -> None:
        self._attempt = attempt
        self._always = {"idempotency_key": client_key, "adapter": adapter}

    @property
    def after_failure(self) -> str:
        """As the policy has it; an open breaker may yet spare the last attempt."""
        is_last = self._attempt.of is not None and self._attempt.number >= self._attempt.of
        return "DEAD" if is_last else "PENDING"

    def write(self, level: int, status: str, code: str | None = None) -> None:
        fields = {
            **self._always,
            "status": status,
            "attempts": self._attempt.number,
            "last_error_code": code,
        }
        # As JSON, so that no client's key can look like another line or field.
        told = {**fields, "message_id": str(self._attempt.message.id)}
        _log.log(level, "broker order %s", json.dumps(fields), extra=told)
