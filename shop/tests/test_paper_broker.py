"""The paper broker is a real process that takes an order once per key, whatever happens to it."""

from typing import Any

import httpx
import pytest

from shop.paper_broker.running import PaperBroker

ORDER = {"clientOrderId": "c-1", "symbol": "7203.T", "quantity": "100"}


def hand_in(
    broker: PaperBroker, key: str = "k-1", order: dict[str, Any] = ORDER, patience: float = 30
) -> httpx.Response:
    headers = {"Idempotency-Key": key}
    return httpx.post(f"{broker.url}/orders", json=order, headers=headers, timeout=patience)


def test_an_order_is_taken_once_per_key(broker: PaperBroker) -> None:
    """SH-12, ID-7"""
    first, again, other = hand_in(broker), hand_in(broker), hand_in(broker, "k-2")
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json() != other.json()
    assert [taken["key"] for taken in broker.orders()] == ["k-1", "k-2"]


def test_the_same_key_with_another_order_is_refused(broker: PaperBroker) -> None:
    """SH-12"""
    hand_in(broker)
    refused = hand_in(broker, order=ORDER | {"quantity": "200"})
    assert (refused.status_code, refused.json()["code"]) == (409, "KEY_REUSED")
    assert len(broker.orders()) == 1


def test_one_order_can_be_looked_up_by_its_key(broker: PaperBroker) -> None:
    """SH-12"""
    hand_in(broker, "0192/send-order")
    found = httpx.get(f"{broker.url}/orders/0192/send-order").json()
    assert found["order"] == ORDER
    assert httpx.get(f"{broker.url}/orders/0193").status_code == 404


def test_what_it_answered_for_it_knows_after_a_kill(broker: PaperBroker) -> None:
    """SH-12: at the same address, with the same receipt."""
    url, receipt = broker.url, hand_in(broker).json()
    broker.kill()
    broker.start()
    assert broker.url == url
    assert hand_in(broker).json() == receipt


def test_it_can_die_between_taking_an_order_and_answering(broker: PaperBroker) -> None:
    """SH-12, ID-7"""
    broker.script({"do": "take-and-die"})
    with pytest.raises(httpx.HTTPError):
        hand_in(broker)
    assert broker.wait() == 70
    broker.start()
    assert [taken["key"] for taken in broker.orders()] == ["k-1"]


def test_it_can_die_before_it_takes_an_order(broker: PaperBroker) -> None:
    """SH-12"""
    broker.script({"do": "die"})
    with pytest.raises(httpx.HTTPError):
        hand_in(broker)
    broker.wait()
    broker.start()
    assert broker.orders() == []


def test_a_script_is_worked_off_one_request_at_a_time(broker: PaperBroker) -> None:
    """SH-12"""
    broker.script(
        {"do": "fail", "status": 503, "retryAfter": "7", "times": 2},
        {"do": "refuse", "code": "MARKET_CLOSED", "times": 1},
        {"do": "babble", "times": 1},
    )
    answers = [hand_in(broker) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [503, 503, 422, 200, 201]
    assert answers[0].headers["retry-after"] == "7"
    assert answers[2].json() == {"code": "MARKET_CLOSED"}
    assert broker.traffic()["byKey"] == {"k-1": 5}


@pytest.mark.parametrize(("deed", "taken"), [("hang", 0), ("take-and-hang", 1)])
def test_it_can_keep_silent(broker: PaperBroker, deed: str, taken: int) -> None:
    """SH-12"""
    broker.script({"do": deed, "times": 1})
    with pytest.raises(httpx.ReadTimeout):
        hand_in(broker, patience=0.3)
    assert len(broker.orders()) == taken


@pytest.mark.parametrize("body", [{}, {"clientOrderId": ""}, {"clientOrderId": 1}, []])
def test_what_is_no_order_is_refused(broker: PaperBroker, body: Any) -> None:
    """SH-12"""
    assert hand_in(broker, order=body).status_code == 422
    assert httpx.post(f"{broker.url}/orders", json=ORDER).status_code == 422, "it has no key"


def test_it_does_not_answer_under_a_name_that_is_not_its_own(broker: PaperBroker) -> None:
    """SE-4: a page on the internet cannot trade by naming this address its own."""
    answer = httpx.get(f"{broker.url}/orders", headers={"Host": "evil.example"})
    assert answer.status_code == 400
