"""A file of which nobody knows whether it arrived: a person decides, once, and is written down."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.dying import drain_through

from shop.testing import Sandbox

DECISIONS = ["mark-transferred", "send-again"]
RIVALS = 10


def exported_order(shop: Sandbox) -> int:
    order_id = shop.place_and_confirm()
    shop.work()
    return order_id


def lost_file(shop: Sandbox) -> dict[str, Any]:
    """Revealed by a worker that died before it could note it, and taken by the receiver."""
    exported_order(shop)
    with shop.app.session() as session:
        shop.app.jobs.run(session, "create-shipment", by="test", reason="to lose its file")
    drain_through(shop.app, "transfer.after_reveal", between=lambda: take_all(shop))
    file = shop.files()[-1]
    assert file["status"] == "UNKNOWN"
    return file


def take_all(shop: Sandbox) -> list[str]:
    """What the receiver finds; he takes it away."""
    found = sorted(shop.sent.iterdir())
    for file in found:
        file.unlink()
    return [file.name for file in found]


def decide(shop: Sandbox, file_id: int, decision: str) -> httpx.Response:
    headers = {"X-Operator": "Mika Sato"}
    return shop.web.post(f"/api/shipment-file/{file_id}/{decision}", headers=headers)


def entries(shop: Sandbox, file_id: int) -> list[dict[str, Any]]:
    shop.work()
    items = shop.web.get("/api/operation").json()["items"]
    return [one for one in items if one["subject"] == f"shipment-file-{file_id}"]


def statuses(shop: Sandbox) -> list[str]:
    items = shop.web.get("/api/shipment").json()["items"]
    return [one["status"] for one in items]


def test_a_lost_file_is_not_sent_again_by_itself(shop: Sandbox) -> None:
    """SH-9: its run has failed and says what to do."""
    file = lost_file(shop)
    shop.run("sftp-put")
    assert take_all(shop) == []
    assert statuses(shop) == ["EXPORTED"]
    (letter,) = shop.dead_letters()
    assert letter.code == "TRANSFER_OUTCOME_UNKNOWN"
    assert file["name"] in str(letter.message)


def test_a_file_that_has_arrived_is_marked_so(shop: Sandbox) -> None:
    """SH-9, SH-3: with its shipments, and nothing is sent."""
    file = lost_file(shop)
    answer = decide(shop, file["id"], "mark-transferred")
    assert (answer.status_code, answer.json()["status"]) == (200, "TRANSFERRED")
    assert answer.json()["transferredAt"] is not None
    shop.run("sftp-put")
    assert take_all(shop) == []
    assert statuses(shop) == ["TRANSFERRED"]
    (entry,) = entries(shop, file["id"])
    assert (entry["operationType"], entry["performedBy"]) == (
        "SHIPMENT_FILE_MARK_TRANSFERRED",
        "Mika Sato",
    )
    assert entry["details"] == {"name": file["name"], "status": "TRANSFERRED"}


def test_a_file_that_has_not_arrived_is_sent_again(shop: Sandbox) -> None:
    """SH-9, SH-3: at once, under the same name, with the same bytes."""
    file = lost_file(shop)
    answer = decide(shop, file["id"], "send-again")
    assert (answer.status_code, answer.json()["status"]) == (200, "EXPORTED")
    assert answer.json()["uploadedAt"] is None
    shop.work()
    (sent,) = shop.sent.iterdir()
    assert sent.name == file["name"]
    assert sent.stat().st_size == file["size"]
    found = shop.web.get(f"/api/shipment-file/{file['id']}").json()
    assert (found["status"], found["sha256"]) == ("TRANSFERRED", file["sha256"])
    assert statuses(shop) == ["TRANSFERRED"]
    (entry,) = entries(shop, file["id"])
    assert (entry["operationType"], entry["performedBy"]) == (
        "SHIPMENT_FILE_SEND_AGAIN",
        "Mika Sato",
    )


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("first", DECISIONS)
def test_what_was_decided_is_not_decided_again(shop: Sandbox, first: str, decision: str) -> None:
    """SH-9: the refusal names the file's status, and leaves no trace."""
    file_id = lost_file(shop)["id"]
    status = decide(shop, file_id, first).raise_for_status().json()["status"]
    answer = decide(shop, file_id, decision)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (409, "OUTCOME_IS_KNOWN")
    assert problem["currentStatus"] == status
    assert status in problem["detail"]
    assert len(entries(shop, file_id)) == 1


def allotted_file(shop: Sandbox) -> None:
    """Known, but its folder is not one, so that it is not written."""
    exported_order(shop)
    shop.exported.write_text("a file where the folder should be")
    shop.run("create-shipment")


def exported_file(shop: Sandbox) -> None:
    """Written, but it cannot be sent."""
    exported_order(shop)
    shop.sent.write_text("a file where the folder should be")
    shop.run("create-shipment")


def transferred_file(shop: Sandbox) -> None:
    exported_order(shop)
    shop.run("create-shipment")


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize(
    ("make", "status"),
    [
        (allotted_file, "ALLOTTED"),
        (exported_file, "EXPORTED"),
        (transferred_file, "TRANSFERRED"),
    ],
)
def test_where_nothing_is_unknown_nobody_decides(
    shop: Sandbox, make: Any, status: str, decision: str
) -> None:
    """SH-9: and no job is enqueued for a decision that was refused."""
    make(shop)
    (file,) = shop.files()
    runs = len(shop.runs("sftp-put"))
    answer = decide(shop, file["id"], decision)
    assert (answer.status_code, answer.json()["code"]) == (409, "OUTCOME_IS_KNOWN")
    assert answer.json()["currentStatus"] == status
    assert shop.files() == [file]
    assert entries(shop, file["id"]) == []
    assert len(shop.runs("sftp-put")) == runs


@pytest.mark.parametrize("decision", DECISIONS)
def test_there_is_nothing_to_decide_of_a_file_that_is_not_there(
    shop: Sandbox, decision: str
) -> None:
    """SH-9"""
    for answer in (decide(shop, 12345, decision), shop.web.get("/api/shipment-file/12345")):
        assert (answer.status_code, answer.json()["code"]) == (404, "SHIPMENT_FILE_NOT_FOUND")


def test_of_many_who_decide_at_once_one_does(shop: Sandbox) -> None:
    """SH-9: some say that it has arrived, some that it has not."""
    file_id = lost_file(shop)["id"]
    with ThreadPoolExecutor(RIVALS) as pool:
        answers = list(pool.map(lambda one: decide(shop, file_id, one), DECISIONS * RIVALS))
    refused = [answer.json()["code"] for answer in answers if answer.status_code != 200]
    assert refused == ["OUTCOME_IS_KNOWN"] * (2 * RIVALS - 1)
    assert len(entries(shop, file_id)) == 1


def test_files_are_listed_newest_first_in_pages(shop: Sandbox) -> None:
    """SH-8"""
    for _ in range(3):
        transferred_file(shop)
    page = shop.web.get("/api/shipment-file", params={"limit": 2}).json()
    rest = shop.web.get("/api/shipment-file", params={"limit": 2, "before": page["next"]}).json()
    found = [*page["items"], *rest["items"]]
    assert [one["id"] for one in found] == sorted((one["id"] for one in found), reverse=True)
    assert (len(found), rest["next"]) == (3, None)
    for file in found:
        assert shop.web.get(f"/api/shipment-file/{file['id']}").json() == file
    assert {one["fileId"] for one in shop.web.get("/api/shipment").json()["items"]} == {
        one["id"] for one in found
    }


@pytest.mark.parametrize("path", ["/api/shipment", "/api/shipment-file"])
@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "before=0", "before=x", f"before={2**63}"]
)
def test_a_page_that_cannot_be_meant_is_refused(small_shop: Sandbox, path: str, query: str) -> None:
    """SE-4"""
    answer = small_shop.web.get(f"{path}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_REQUEST")
    (error,) = answer.json()["errors"]
    assert error["field"] == query.partition("=")[0]
