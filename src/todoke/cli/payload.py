"""Payloads as people may see them: personal fields hidden, mail addresses shortened."""

from __future__ import annotations

import json
from typing import Any

from todoke.app import Todoke
from todoke.message import mask
from todoke.telemetry import masked


class Payloads:
    """Shows bodies of messages, by what the application knows about their events."""

    def __init__(self, app: Todoke) -> None:
        self._classes = app.handlers.event_classes

    def data(self, context: str, type: str, body: str) -> Any:
        """The body's data, masked; its masked text where it is no JSON."""
        known = self._classes.get(f"{context}/{type}") or self._classes.get(f"*/{type}")
        try:
            data = json.loads(body)
        except ValueError:
            return masked(body)
        return _without_addresses(data if known is None else mask(known, data))

    def text(self, context: str, type: str, body: str) -> str:
        return json.dumps(self.data(context, type, body), ensure_ascii=False, indent=2)


def _without_addresses(data: Any) -> Any:
    match data:
        case str():
            return masked(data)
        case list():
            return [_without_addresses(one) for one in data]
        case dict():
            return {masked(name): _without_addresses(one) for name, one in data.items()}
    return data
