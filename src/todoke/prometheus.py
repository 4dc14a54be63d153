"""Metrics for Prometheus: a collector, an ASGI application, and what `todoke worker` serves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import DBAPIError

from todoke.app import Todoke
from todoke.database import reading
from todoke.errors import InvalidOption
from todoke.metrics import Age
from todoke.telemetry import log

__all__ = ["MetricsCollector", "metrics_app"]

SETTING = "telemetry.prometheus"
_FAILURE = ("context", "type", "handler", "code")
_LABELS = {
    "enqueued": ("context", "type"),
    "sent": ("context", "type", "handler"),
    "failed": _FAILURE,
    "aborted": _FAILURE,
}
_MEANINGS = {
    "enqueued": "Events that this process published.",
    "sent": "Messages that a handler here has processed.",
    "failed": "Attempts here that failed and are tried again.",
    "aborted": "Messages that became dead letters here.",
}
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class MetricsCollector(Collector):
    """For a registry of one's own: `registry.register(MetricsCollector(app))`."""

    def __init__(self, app: Todoke) -> None:
        self._app = app

    def describe(self) -> Iterable[Metric]:
        """The names alone, so that registering asks no database."""
        return [*_counters().values(), _age(), _reachable()]

    def collect(self) -> Iterable[Metric]:
        """The counters of this process, and the ages as the database knows them now."""
        return [*self._counts(), *self._ages()]

    def _counts(self) -> Iterable[Metric]:
        families = _counters()
        for one in self._app.metrics.counts():
            labels = [getattr(one, name) for name in _LABELS[one.counted]]
            families[one.counted].add_metric(labels, one.total)
        return families.values()

    def _ages(self) -> Iterable[Metric]:
        reachable, family = _reachable(), _age()
        found = self._read()
        reachable.add_metric([], found is not None)
        if found is None:
            return [reachable]
        for context in sorted(self._app.context_names | set(found)):
            age = found.get(context)
            family.add_metric([context, "0.95"], age.p95.total_seconds() if age else 0)
            family.add_metric([context, "1"], age.oldest.total_seconds() if age else 0)
        return [reachable, family]

    def _read(self) -> dict[str, Age] | None:
        """None where the database cannot be asked: the counters are told all the same."""
        try:
            # The agents' connections: handlers may hold all the others for long.
            with self._app.agents_engine.connect() as connection, reading(connection):
                return {age.context: age for age in self._app.metrics.ages(connection)}
        except DBAPIError:
            return None


def metrics_app(app: Todoke) -> Callable[[Message, Receive, Send], Awaitable[None]]:
    """An ASGI application that answers every GET with the metrics of this process."""
    registry = _registry(app)

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        accepted = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
        encode, kind = choose_encoder(accepted)
        # In a thread: it asks the database.
        body = await asyncio.to_thread(encode, registry)
        headers = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


def serve(app: Todoke, number: int = 0) -> None:
    """Serve what `telemetry.prometheus` asks for, in a thread; the next process on the next port.

    A port that is taken keeps no work waiting: it is told in the log, and the worker goes on.
    """
    host, port = _address(app.settings.get(SETTING))
    try:
        start_http_server(port + number, host, _registry(app))
        log.info("metrics are at http://%s:%d/metrics", host, port + number)
    except OSError as error:
        log.error("metrics cannot be served at %s:%d: %s", host, port + number, error)


def _address(said: object) -> tuple[str, int]:
    """A port alone is that of this machine, for nobody else."""
    host, _, port = str(said).rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidOption(SETTING, said, 'write "127.0.0.1:9464", or "off".')
    return host.strip("[]") or "127.0.0.1", int(port)


def _registry(app: Todoke) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(MetricsCollector(app))
    return registry


def _counters() -> dict[str, CounterMetricFamily]:
    return {
        name: CounterMetricFamily(f"outbox_{name}", _MEANINGS[name], labels=labels)
        for name, labels in _LABELS.items()
    }


def _age() -> GaugeMetricFamily:
    meaning = "How long what is due has been waiting for a worker."
    return GaugeMetricFamily("outbox_age_seconds", meaning, labels=("context", "quantile"))


def _reachable() -> GaugeMetricFamily:
    meaning = "Whether the database could be asked for ages."
    return GaugeMetricFamily("outbox_reachable", meaning, labels=())
