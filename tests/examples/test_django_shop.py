"""examples/django_shop: a web process that publishes, and a worker that uses the ORM."""

from __future__ import annotations

from pathlib import Path

from tests.examples.example import Example, client
from tests.servers.place import free_port
from tests.waiting import until


def test_an_order_over_http_is_reserved_by_the_worker_beside_it(tmp_path: Path) -> None:
    """OB-1, OB-3: real server, real worker, on SQLite."""
    shop, port = Example("django_shop", tmp_path), free_port()
    shop.run("manage.py", "migrate")
    server = ("manage.py", "runserver", "--noreload", str(port))
    with (
        shop.running(*server, ends_with=(0, -15)),
        shop.running("manage.py", "todoke", "worker"),
        client(port) as shopper,
    ):
        placed = shopper.post("/orders", json={"article": "sencha"})
        assert (placed.status_code, placed.json()["status"]) == (201, "placed")
        until(lambda: shopper.get("/orders/1").json()["status"] == "reserved", 30)
        assert shopper.get("/orders/2").status_code == 404
    assert "no worker is running" in shop.run("manage.py", "todoke", "status")


def test_the_shops_own_tests_pass(tmp_path: Path) -> None:
    """TS-1: as its README says."""
    assert "OK" in Example("django_shop", tmp_path).run("manage.py", "test")
