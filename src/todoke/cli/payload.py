"""Payloads and keys as people may see them: no personal fields, no mail addresses."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from todoke.app import Todoke
from todoke.message import mask
from todoke.telemetry import masked


class Payloads:
    """Shows what is in messages, by what the application knows about their events."""

    def __init__(self, app: Todoke) -> None:
        # Each answer takes a look at all handlers.
        self._class_of = cache(app.event_class)

    def data(self, context: str, type: str, body: str) -> Any:
        """The body's data, masked; its masked text where it is no JSON."""
        known = self._class_of(context, type)
        try:
            data = json.loads(body)
        except ValueError:
            return masked(body)
        return _without_addresses(data if known is None else mask(known, data))

    def text(self, context: str, type: str, body: str) -> str:
        return json.dumps(self.data(context, type, body), ensure_ascii=False, indent=2)

    def key(self, context: str, type: str, key: str) -> str:
        known = self._class_of(context, type)
        field = known.declared.key_field if known is not None else None
        if known is not None and field is not None:
            key = mask(known, {field: key})[field]
        return masked(key)


def _without_addresses(data: Any) -> Any:
    match data:
        case str():
            return masked(data)
        case list():
            return [_without_addresses(one) for one in data]
        case dict():
            return {masked(name): _without_addresses(one) for name, one in data.items()}
    return data
