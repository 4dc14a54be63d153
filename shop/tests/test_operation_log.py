"""The operation log tells who did what, once, for what was committed."""

import json

import pytest

from shop.testing import Sandbox


def log(shop: Sandbox) -> list[dict[str, str]]:
    items: list[dict[str, str]] = shop.web.get("/api/operation").json()["items"]
    return items


def test_every_state_changing_route_is_logged(shop: Sandbox) -> None:
    """SH-3, AU-12"""
    order_id = shop.place_and_confirm()
    shop.work()
    entries = {entry["operationType"]: entry for entry in log(shop)}
    assert entries["ORDER_PLACE"]["requestPath"] == "/api/order"
    assert entries["ORDER_CONFIRM"]["requestPath"] == f"/api/order/{order_id}/confirm"
    assert len(log(shop)) == 2


def test_the_log_is_written_after_the_commit(shop: Sandbox) -> None:
    """AU-12"""
    shop.place()
    assert log(shop) == []
    assert shop.statuses("OPERATION_PERFORMED") == ["PENDING"]
    shop.work()
    assert len(log(shop)) == 1


def test_working_again_writes_nothing_twice(shop: Sandbox) -> None:
    """AU-12"""
    shop.place()
    shop.work("1h", "1h")
    assert len(log(shop)) == 1


@pytest.mark.parametrize(
    ("headers", "name"), [({}, "anonymous"), ({"X-Operator": "Mika Sato"}, "Mika Sato")]
)
def test_the_log_names_the_operator(shop: Sandbox, headers: dict[str, str], name: str) -> None:
    """AU-12"""
    order_id = shop.place()
    shop.web.post(f"/api/order/{order_id}/confirm", headers=headers).raise_for_status()
    shop.work()
    assert log(shop)[0]["performedBy"] == name


def test_the_log_holds_no_personal_data(shop: Sandbox) -> None:
    """SE-2, AU-12"""
    shop.place_and_confirm("hanako@example.com")
    shop.work()
    assert "hanako" not in json.dumps(log(shop))


@pytest.mark.parametrize("name", ["", "a" * 101, "a\x7f", "é"])
def test_an_operator_that_cannot_be_meant_is_refused(small_shop: Sandbox, name: str) -> None:
    """SE-4"""
    order_id = small_shop.place()
    answer = small_shop.web.post(
        f"/api/order/{order_id}/confirm", headers={b"X-Operator": name.encode("latin-1")}
    )
    assert answer.status_code == 422
    assert small_shop.order(order_id)["status"] == "PENDING"
