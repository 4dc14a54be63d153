"""Commits whose reply never came: whoever asks again with the same key finds the one outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from httpx import AsyncClient, Response
from sqlalchemy import event
from sqlalchemy.orm import Session

from tests.counts import Counts
from tests.proof.order_desk import PATHS, orders, sends, web_of
from tests.proof.test_ledger_callers import desk, is_first, rows
from tests.web.client import running
from todoke.testing import FaultyLine

Record = Callable[[str, object], None]
SENCHA = {"article": "sencha"}


@pytest.mark.parametrize("database", ["postgres", "mariadb"])
async def test_an_order_whose_commit_got_no_reply_is_found_by_its_key(
    request: pytest.FixtureRequest, database: str, counts: Counts, record_property: Record
) -> None:
    """ID-2, ID-3: 503 first, then the outcome; no order twice, none lost"""
    url = str(request.getfixturevalue(f"{database}_copy"))
    first, second = Counter[int](), Counter[int]()
    with FaultyLine.to(url) as line, desk(line.url(url)) as app:
        async with running(web_of(app)) as client:
            for number in range(counts.lost_commits):
                with own_commit_lost(line):
                    unknown = await place(client, number)
                assert unknown.json()["code"] == "UNAVAILABLE"
                assert unknown.headers["Retry-After"]
                first[unknown.status_code] += 1
                found = await place(client, number)
                assert not is_first(found)
                second[found.status_code] += 1
        lost = line.lost
        app.drain()
        placed, sent = rows(app, orders), rows(app, sends)
    record_property("commits without a reply", lost)
    record_property("answered first", dict(first))
    record_property("answered to the same key", dict(second))
    assert lost == counts.lost_commits
    assert set(first) == {503}
    assert set(second) == {200, 202}
    assert (
        sorted(placed)
        == sorted(sent)
        == sorted((key(number), "sencha") for number in range(counts.lost_commits))
    )


@contextmanager
def own_commit_lost(line: FaultyLine) -> Iterator[None]:
    """Not one of those with which a connection of MariaDB's begins."""

    def arm(_session: Session) -> None:
        line.lose_reply("COMMIT")

    event.listen(Session, "before_commit", arm)
    try:
        yield
    finally:
        event.remove(Session, "before_commit", arm)


def key(number: int) -> str:
    return f"key {number}"


async def place(client: AsyncClient, number: int) -> Response:
    path, headers = PATHS[number % len(PATHS)], {"Idempotency-Key": key(number)}
    return await client.post(path, json=SENCHA, headers=headers)
