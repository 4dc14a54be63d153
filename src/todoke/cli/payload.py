"""Payloads, arguments and keys as people may see them: nothing personal, no mail addresses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

from todoke.app import Todoke
from todoke.jobs.handler import JobHandler
from todoke.jobs.shown import hidden_argument, hidden_result
from todoke.message import mask
from todoke.telemetry import masked


class Payloads:
    """Shows what is in messages, by what the application knows about their events and jobs."""

    def __init__(self, app: Todoke) -> None:
        # Each answer takes a look at all handlers.
        self._class_of = cache(app.event_class)
        self._app = app

    def data(self, context: str, type: str, body: str) -> Any:
        """The body's data, masked; its masked text where it is no JSON."""
        event, job = self._class_of(context, type), self._jobs.get(type)
        try:
            data = json.loads(body)
        except ValueError:
            return masked(body)
        if event is not None:
            data = mask(event, data)
        return _without_addresses(data if job is None else hidden_argument(job, data))

    def result(self, job: str, text: str) -> Any:
        """What a job has answered."""
        known, data = self._jobs.get(job), json.loads(text)
        return _without_addresses(data if known is None else hidden_result(known, data))

    def text(self, context: str, type: str, body: str) -> str:
        return json.dumps(self.data(context, type, body), ensure_ascii=False, indent=2)

    def key(self, context: str, type: str, key: str) -> str:
        known, job = self._class_of(context, type), self._jobs.get(type)
        field = known.declared.key_field if known is not None else None
        if known is not None and field is not None:
            key = mask(known, {field: key})[field]
        if job is not None and job.bounds is not None and job.bounds.per_key is not None:
            per = job.bounds.per_key.per
            key = hidden_argument(job, {per: key})[per] if isinstance(per, str) else key
        return masked(key)

    @cached_property
    def _jobs(self) -> Mapping[str, JobHandler]:
        return self._app.handlers.jobs


def _without_addresses(data: Any) -> Any:
    match data:
        case str():
            return masked(data)
        case list():
            return [_without_addresses(one) for one in data]
        case dict():
            return {masked(name): _without_addresses(one) for name, one in data.items()}
    return data
