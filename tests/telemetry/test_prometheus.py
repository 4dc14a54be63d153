"""What Prometheus sees: of one's own registry, of a web process, of a worker."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import urlopen

import httpx
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from tests.application import Placed, publish
from tests.cli.parcels import ParcelSent
from tests.cli.project import SOURCE, Project
from tests.waiting import until
from todoke import PermanentError, Todoke
from todoke.prometheus import MetricsCollector, metrics_app
from todoke.testing import Clock

LIGHT = ParcelSent(parcel=1, mail="mika@example.com", weight=3)
HEAVY = ParcelSent(parcel=2, mail="mika@example.com", weight=300)
Samples = dict[tuple[str, ...], float]


def read(text: str) -> Samples:
    """By name and the values of its labels, in the order of the labels' names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def port() -> Iterator[int]:
    """Two ports in a row that nobody has."""
    for port in range(19_464, 60_000, 2):
        with socket.socket() as one, socket.socket() as next:
            try:
                one.bind(("127.0.0.1", port))
                next.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
        yield port
        return


def scrape(port: int) -> Samples:
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return read(answer.read().decode())
    except (URLError, ConnectionError):
        return {}


def test_a_registry_of_ones_own_collects_counters_and_ages(app: Todoke, clock: Clock) -> None:
    """ID-9: under the names that the alerts are written for."""

    @app.on(Placed)
    def note(event: Placed) -> None:
        if event.order_id == 2:
            raise PermanentError("no", code="NO")

    registry = CollectorRegistry(auto_describe=True)
    registry.register(MetricsCollector(app))
    publish(app, Placed(order_id=1), Placed(order_id=2))
    app.drain()
    publish(app, Placed(order_id=3))
    clock.advance("1m")
    assert registry.get_sample_value("outbox_enqueued_total", _kind()) == 3
    assert registry.get_sample_value("outbox_sent_total", _kind(handler="note")) == 1
    aborted = _kind(handler="note", code="NO")
    assert registry.get_sample_value("outbox_aborted_total", aborted) == 1
    age = {"context": "todoke", "quantile": "0.95"}
    assert registry.get_sample_value("outbox_age_seconds", age) == 60
    app.drain()
    assert registry.get_sample_value("outbox_age_seconds", age) == 0


def _kind(**more: str) -> dict[str, str]:
    return {"context": "todoke", "type": "placed", **more}


def test_counters_are_told_while_the_database_is_away(sqlite_copy: str) -> None:
    """ID-9: a scrape must not fail just when it is looked at most."""
    registry = CollectorRegistry()
    away = Todoke("postgresql://nobody@127.0.0.1:1/nowhere")
    registry.register(MetricsCollector(away))
    assert registry.get_sample_value("outbox_reachable") == 0
    assert registry.get_sample_value("outbox_age_seconds") is None


def test_a_web_process_answers_with_its_own_metrics(on_sqlite: Todoke) -> None:
    """ID-9: mounted where one likes."""
    publish(on_sqlite, Placed(order_id=1))

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(metrics_app(on_sqlite))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.get("/metrics")

    answer = asyncio.run(ask())
    assert answer.headers["content-type"].startswith("text/plain")
    assert read(answer.text)["outbox_enqueued_total", "todoke", "placed"] == 1


def test_each_process_of_a_worker_serves_its_own_port(
    project: Project, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ID-9: the next process on the next port; together they have sent it all."""
    monkeypatch.setenv("TODOKE_TELEMETRY_PROMETHEUS", str(port))
    project.publish(*[LIGHT] * 5, HEAVY)
    with project.worker("--processes", "2") as worker:
        until(lambda: project.has("PROCESSED", 5) and project.has("DEAD"), 30)
        until(lambda: scrape(port) and scrape(port + 1), 30)

        def total(name: str, *code: str) -> float:
            key = (name, *code, "parcels", "tell", ParcelSent.declared.type)
            return sum(scrape(one).get(key, 0) for one in (port, port + 1))

        until(lambda: total("outbox_sent_total") == 5)
        assert total("outbox_aborted_total", "TOO_HEAVY") == 1
        assert scrape(port)["outbox_age_seconds", "parcels", "0.95"] == 0
        assert scrape(port)["outbox_reachable",] == 1
        worker.terminate()
        assert worker.end() == 0
    assert f"metrics are at http://127.0.0.1:{port}/metrics" in worker.err


def test_a_port_that_is_taken_keeps_no_work_waiting(
    project: Project, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ID-9: metrics are told of in vain, messages arrive."""
    monkeypatch.setenv("TODOKE_TELEMETRY_PROMETHEUS", f"127.0.0.1:{port}")
    project.publish(LIGHT)
    with socket.create_server(("127.0.0.1", port)), project.worker() as worker:
        until(lambda: project.has("PROCESSED"), 30)
        assert f"metrics cannot be served at 127.0.0.1:{port}" in worker.err


def test_an_address_that_is_none_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ID-9"""
    monkeypatch.setenv("TODOKE_TELEMETRY_PROMETHEUS", "yes")
    with project.worker() as worker:
        assert worker.end() == 1
    assert 'write "127.0.0.1:9464", or "off"' in worker.err


def test_a_missing_extra_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """ID-9: refused at the start, with what to install."""
    monkeypatch.setenv("TODOKE_TELEMETRY_PROMETHEUS", "9464")
    project.write(f"import sys\nsys.modules['prometheus_client'] = None\n{SOURCE}")
    with project.worker() as worker:
        assert worker.end() == 1
    assert "pip install 'todoke[prometheus]'" in worker.err
