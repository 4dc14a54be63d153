"""Many people press the button at once; one of them confirms."""

from concurrent.futures import ThreadPoolExecutor

from shop.testing import Sandbox

RIVALS = 50


def test_of_fifty_confirmations_exactly_one_succeeds(shop: Sandbox) -> None:
    """SH-1, SH-3"""
    order_id = shop.place()
    with ThreadPoolExecutor(RIVALS) as pool:
        answers = list(
            pool.map(lambda _: shop.web.post(f"/api/order/{order_id}/confirm"), range(RIVALS))
        )
    statuses = sorted(answer.status_code for answer in answers)
    refused = [answer.json() for answer in answers if answer.status_code == 409]
    assert statuses == [200] + [409] * (RIVALS - 1)
    assert {problem["currentStatus"] for problem in refused} == {"CONFIRMED"}
    assert shop.mail_statuses() == ["PENDING"]
    shop.work()
    assert len(shop.letters()) == 1
