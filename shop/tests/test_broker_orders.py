"""An order to the broker: accepted once per key, sent, and its outcome told to whoever asks."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from shop.mailbox.server import MailServer
from shop.paper_broker.running import PaperBroker
from shop.testing import Sandbox, sandbox
from todoke.testing import Clock


def test_an_order_is_accepted_sent_and_its_outcome_told_again(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """SH-12, ID-2, ID-5"""
    first = desk.do_order()
    assert (first.status_code, first.json()["status"]) == (202, "accepted")
    assert first.headers["location"] == "/do/order/k-1"
    desk.work()
    again = desk.do_order()
    assert (again.status_code, again.json()["status"]) == (200, "succeeded")
    assert again.headers["idempotency-replayed"] == "true"
    (taken,) = broker.orders()
    assert again.json()["result"] == taken["receipt"]
    assert desk.statuses("SEND_ORDER") == ["PROCESSED"]


def test_before_it_is_settled_a_repeat_is_told_to_ask_later(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-2"""
    desk.do_order()
    waiting = desk.do_order()
    assert (waiting.status_code, waiting.json()["status"]) == (200, "accepted")
    assert int(waiting.headers["retry-after"]) > 0
    desk.work()
    assert len(broker.orders()) == 1


def test_a_client_whose_connection_died_asks_by_its_key(desk: Sandbox) -> None:
    """ID-2"""
    key = "急ぎ/2026 #1"
    desk.do_order(None, idempotencyKey=key)
    assert desk.outcome(key)["status"] == "accepted"
    desk.work()
    assert desk.outcome(key)["status"] == "succeeded"


@pytest.mark.parametrize("key", ["never-used", "k" * 256, "a\x00b", " "])
def test_of_a_key_that_was_never_used_nothing_is_known(small_desk: Sandbox, key: str) -> None:
    """ID-2"""
    answer = small_desk.web.get(f"/do/order/{quote(key, safe='')}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_same_order_in_another_spelling_is_a_repeat(
    small_desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-4"""
    first = small_desk.do_order(clientTags=["b", "a"], symbol="7203.T")
    again = small_desk.do_order(
        clientTags=[" a ", "b", "b"], symbol="7203.t", quantity="100.00", timeInForce="DAY"
    )
    assert (first.status_code, again.status_code) == (202, 200)


def test_the_same_key_with_another_order_is_a_conflict_that_tells_nothing(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-2"""
    desk.do_order()
    desk.work()
    answer = desk.do_order(quantity="200")
    assert (answer.status_code, answer.json()["code"]) == (409, "KEY_REUSED")
    assert answer.headers["content-type"] == "application/problem+json"
    assert "PB-" not in answer.text
    desk.work()
    assert [taken["order"]["quantity"] for taken in broker.orders()] == ["100"]


def test_the_key_may_stand_in_the_body(desk: Sandbox, broker: PaperBroker) -> None:
    """ID-2"""
    assert desk.do_order(None, idempotencyKey="k-1").status_code == 202
    assert desk.do_order("k-1").status_code == 200
    assert desk.do_order("k-1", idempotencyKey="k-1").status_code == 200
    desk.work()
    (taken,) = broker.orders()
    assert taken["order"]["clientOrderId"] == "k-1"


def test_an_order_without_a_key_or_with_two_is_refused(small_desk: Sandbox) -> None:
    """ID-2"""
    none, two = small_desk.do_order(None), small_desk.do_order("k-1", idempotencyKey="k-2")
    assert (none.status_code, none.json()["code"]) == (400, "MISSING_KEY")
    assert (two.status_code, two.json()["code"]) == (400, "DIFFERENT_KEYS")
    assert small_desk.statuses("SEND_ORDER") == []


def test_two_callers_with_one_key_place_two_orders_and_see_their_own(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-2, ID-7: what the broker knows them by differs, too."""
    desk.do_order("k-1", by="desk-7")
    assert desk.do_order("k-1", by="desk-8", quantity="200").status_code == 202
    desk.work()
    assert len({taken["key"] for taken in broker.orders()}) == 2
    seven, eight = desk.outcome("k-1", "desk-7"), desk.outcome("k-1", "desk-8")
    assert seven["result"]["brokerOrderId"] != eight["result"]["brokerOrderId"]
    assert desk.web.get("/do/order/k-1", headers={"X-Operator": "desk-9"}).status_code == 404


def test_of_equal_orders_at_the_same_instant_one_is_accepted_and_sent(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-3"""
    with ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda _: desk.do_order(), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [202]
    desk.work()
    assert len(broker.orders()) == 1


def test_of_different_orders_under_one_key_at_the_same_instant_one_wins(
    desk: Sandbox, broker: PaperBroker
) -> None:
    """ID-3"""
    with ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda number: desk.do_order(quantity=str(number)), range(1, 9)))
    assert sorted(answer.status_code for answer in answers) == [202] + [409] * 7
    desk.work()
    assert len(broker.orders()) == 1


def test_a_restart_of_the_shop_forgets_neither_key_nor_order(
    migrated_url: str, mail_server: MailServer, clock: Clock, broker: PaperBroker
) -> None:
    """ID-2, ID-5"""
    with sandbox(migrated_url, mail_server, clock, broker.url) as shop:
        assert shop.do_order().status_code == 202
    with sandbox(migrated_url, mail_server, clock, broker.url) as shop:
        assert shop.do_order().status_code == 200
        assert shop.do_order(quantity="200").status_code == 409
        shop.work()
    with sandbox(migrated_url, mail_server, clock, broker.url) as shop:
        assert shop.outcome()["status"] == "succeeded"
    assert len(broker.orders()) == 1


def test_each_wrong_field_is_named_and_nothing_is_accepted(small_desk: Sandbox) -> None:
    """ID-4"""
    answer = small_desk.do_order(quantity=1.5, limitPrice="1e5", side="HOLD", surprise=1)
    assert answer.status_code == 422
    errors = {error["field"] for error in answer.json()["errors"]}
    assert errors == {"quantity", "limitPrice", "side", "surprise"}
    assert small_desk.do_order().status_code == 202, "the key was not taken"
