"""What a broker's HTTP answer means: a receipt, a refusal, or nothing certain."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

from pydantic import ValidationError

from shop.brokerage.adapter import AdapterFailed, AdapterRefused, Receipt

_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
# Nothing of these is about the order: it was not looked at, or not yet.
_PASSING = frozenset({401, 408, 425, 429})
_LONGEST_WAIT = 600
_IN_PROGRESS = "IN_PROGRESS"


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def receipt_of(answer: Answer, client_order_id: str) -> Receipt:
    """The receipt, or the error that the answer amounts to."""
    if 200 <= answer.status < 300:
        return _receipt(answer, client_order_id)
    code = _reason(answer)
    said = f"the broker answered {answer.status}" + (f" {code}" if code else "")
    if _is_refusal(answer.status, code):
        raise AdapterRefused(said, code=code or f"BROKER_{answer.status}")
    raise AdapterFailed(said, code=code or f"BROKER_{answer.status}", after=_wait(answer))


def _is_refusal(status: int, code: str | None) -> bool:
    if status == 409:
        return code not in (None, _IN_PROGRESS)
    return 400 <= status < 500 and status not in _PASSING


def _receipt(answer: Answer, client_order_id: str) -> Receipt:
    try:
        receipt = Receipt.model_validate(_object(answer.body))
    except ValidationError:
        receipt = None
    if receipt is None or receipt.client_order_id != client_order_id:
        raise AdapterFailed(
            f"the broker answered {answer.status} without a receipt for this order",
            code="BROKER_UNREADABLE",
        )
    return receipt


def _reason(answer: Answer) -> str | None:
    code = _object(answer.body).get("code")
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object in it; an empty one where it holds anything else."""
    try:
        found = json.loads(body, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _wait(answer: Answer) -> timedelta | None:
    """As the broker asks by Retry-After, in seconds or as a date; within reason."""
    asked = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", asked):
        seconds = float(asked)
    else:
        try:
            seconds = (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            return None
    return timedelta(seconds=min(max(seconds, 1), _LONGEST_WAIT))
