"""examples/fastapi_shop: one process that publishes and works."""

from __future__ import annotations

from pathlib import Path

from tests.examples.example import Example, client
from tests.servers.place import free_port
from tests.waiting import until


def test_an_order_over_http_is_reserved_by_the_worker_inside(tmp_path: Path) -> None:
    """OB-1, OB-3: real server, real worker, on SQLite; SIGTERM ends both in order."""
    shop, port = Example("fastapi_shop", tmp_path), free_port()
    shop.run("teashop.py")
    # uvicorn ends in order and then raises the signal that it was sent, once more.
    with (
        shop.running("-m", "uvicorn", "teashop:web", "--port", str(port), ends_with=(0, -15)),
        client(port) as shopper,
    ):
        placed = shopper.post("/orders", json={"article": "sencha"})
        assert (placed.status_code, placed.json()["id"]) == (201, 1)
        until(lambda: shopper.get("/orders/1").json()["status"] == "reserved", 30)
        assert shopper.get("/orders/2").status_code == 404
    assert "no worker is running" in shop.run("-m", "todoke", "status", "--app", "teashop:app")
