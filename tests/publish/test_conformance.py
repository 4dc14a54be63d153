"""What holds on every kind of transaction; `docs/connections.md` names kinds and promises.

That a commit keeps and a rollback drops, savepoints too, is in `test_commit_and_rollback.py`; that
what is not awaited fails the commit, on each async kind, in `test_promises.py`.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.application import Noted, Placed, living
from tests.house.sources import ROOT
from tests.publish.desks import EVERY_KIND, Desk
from todoke import Event, Key, Todoke, codec
from todoke.errors import NotInTransaction, NullKey, OtherDatabase

PLACES = EVERY_KIND


class Named(Event):
    name: Key[str | None]


AWKWARD = ["", "%s %(name)s %% :x ? $1", "'; DROP TABLE outbox; --", "届け 🚚 \t\n\\N \x01"]


async def test_autocommit_is_refused(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.autocommit() as tx:
        with pytest.raises(NotInTransaction, match="would not commit with your change") as refused:
            await desk.publish(tx, Placed(order_id=1))
    assert str(refused.value).endswith(".")
    assert living(app) == []


async def test_another_database_is_refused(
    app: Todoke, desk: Desk, request: pytest.FixtureRequest
) -> None:
    """OB-1"""
    name = {"postgresql": "postgres"}.get(app.database.kind, app.database.kind)
    if name == "sqlite":
        other = f"{app.url.set(database=f'{app.url.database}-other')}"
    else:
        other = str(request.getfixturevalue(f"{name}_database"))
    async with desk.elsewhere(other) as tx:
        with pytest.raises(OtherDatabase, match="two databases cannot commit as one"):
            await desk.publish(tx, Placed(order_id=1))
    assert living(app) == []


async def test_many_keep_their_order(app: Todoke, desk: Desk) -> None:
    """OB-1 OB-9"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=0))
        await desk.publish_all(tx, [Placed(order_id=number) for number in range(1, 40)])
        await desk.publish_all(tx, [Noted(order_id=40), Placed(order_id=41)])
    rows = living(app)
    assert [int(row.key) for row in rows] == list(range(42))
    assert [row.message_id for row in rows] == sorted(row.message_id for row in rows)


async def test_nothing_to_publish_is_fine(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        assert await desk.publish_all(tx, []) == []
    assert living(app) == []


@pytest.mark.parametrize("count", [1, 3, 20], ids=["one", "few", "copied"])
async def test_texts_arrive_as_they_are(app: Todoke, desk: Desk, count: int) -> None:
    """OB-2"""
    events = [
        Placed(order_id=number, note=AWKWARD[number % 4] + AWKWARD[1]) for number in range(count)
    ]
    async with desk.transaction() as tx:
        await desk.publish_all(tx, events)
    bodies = [codec.dump(one.model_dump(mode="json")) for one in events]
    assert [row.body for row in living(app)] == bodies


async def test_a_row_is_the_same_whoever_writes_it(app: Todoke, desk: Desk) -> None:
    """OB-2: compared with that of a Session, column by column"""
    headers = {"tenant": "東京", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    options: list[dict[str, Any]] = [
        {"headers": headers},
        {"delay": "10m"},
        {"expires": "1h"},
        {"locked": True},
    ]
    for option in options:
        with app.session() as session:
            app.publish(session, Placed(order_id=1), **option)
        async with desk.transaction() as tx:
            await desk.publish(tx, Placed(order_id=1), **option)
    rows = [row._asdict() for row in living(app)]
    for row in rows:
        del row["id"], row["message_id"]
    assert len(rows) == 2 * len(options)
    assert rows[0::2] == rows[1::2]


async def test_a_refusal_leaves_the_transaction_usable(app: Todoke, desk: Desk) -> None:
    """OB-1 OB-2"""
    async with desk.transaction() as tx:
        with pytest.raises(NullKey):
            await desk.publish_all(tx, [Placed(order_id=1), Named(name=None)])
        await desk.publish(tx, Placed(order_id=2))
    assert [row.key for row in living(app)] == ["2"]


async def test_what_is_published_is_delivered(app: Todoke, desk: Desk) -> None:
    """OB-4"""
    seen: list[int] = []

    @app.on(Placed)
    def handle(event: Placed) -> None:
        seen.append(event.order_id)

    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=7))
    await app.adrain()
    assert seen == [7]


def test_the_guide_names_every_kind() -> None:
    """OB-1: and no other"""
    guide = (ROOT / "docs" / "connections.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(Of\w+)`", guide))
    known = {kind.__name__ for _, kind in EVERY_KIND} | {"OfSqlite3Always"}
    assert named == known
