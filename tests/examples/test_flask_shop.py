"""examples/flask_shop: a web process that publishes, and a worker beside it."""

from __future__ import annotations

from pathlib import Path

from tests.examples.example import Example, client
from tests.servers.place import free_port
from tests.waiting import until


def test_an_order_over_http_is_reserved_by_the_worker_beside_it(tmp_path: Path) -> None:
    """OB-1, OB-3: real server, real worker, on SQLite; the handler reads Flask's configuration."""
    shop, port = Example("flask_shop", tmp_path), free_port()
    shop.set("FLASK_APP", "teashop:create_web")
    shop.run("-m", "flask", "todoke", "migrate")
    shop.run("-m", "flask", "create-tables")
    with (
        shop.running("-m", "flask", "run", "--port", str(port), ends_with=(-15,)),
        shop.running("-m", "flask", "todoke", "worker"),
        client(port) as shopper,
    ):
        placed = shopper.post("/orders", json={"article": "sencha"})
        assert (placed.status_code, placed.json()["shelf"]) == (201, None)
        until(lambda: shopper.get("/orders/1").json()["shelf"] == "counter", 30)
    assert "no worker is running" in shop.run("-m", "flask", "todoke", "status")
