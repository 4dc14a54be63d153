"""The ledger works in every kind of transaction that events are published in."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.application import Noted, living
from tests.publish.desks import EVERY_KIND, Desk
from todoke import Todoke
from todoke.errors import AlreadySettled, NotInTransaction, OtherDatabase
from todoke.operate import Accepted, Conflict, InProgress, Replay

PLACES = EVERY_KIND

SCOPE = {"tenant": "届け", "caller": "%s :x ? $1", "operation": "POST /do/order"}


async def awaited(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


async def test_a_key_lives_its_life(app: Todoke, desk: Desk) -> None:
    """ID-1 ID-2: accepted, in progress, settled, answered again"""
    ledger = app.ledger
    async with desk.transaction() as tx:
        first = await awaited(ledger.accept(tx, "k-1", {"n": 1}, **SCOPE))
        assert isinstance(first, Accepted)
        await desk.publish(tx, Noted(order_id=1), settles=first.entry)
    async with desk.transaction() as tx:
        assert await awaited(ledger.accept(tx, "k-1", {"n": 1}, **SCOPE)) == InProgress(
            first.entry, 5
        )
        assert isinstance(await awaited(ledger.accept(tx, "k-1", {"n": 2}, **SCOPE)), Conflict)
    async with desk.transaction() as tx:
        settled = await awaited(ledger.succeed(tx, first.entry, {"届": "🚚"}, status_code=201))
        with pytest.raises(AlreadySettled):
            await awaited(ledger.fail(tx, first.entry, "NO"))
    async with desk.transaction() as tx:
        replay = await awaited(ledger.accept(tx, "k-1", {"n": 1}, **SCOPE))
        assert replay == Replay(settled)
        assert replay.response == {"届": "🚚"}
        assert await awaited(ledger.find(tx, "k-1", **SCOPE)) == settled
        assert await awaited(ledger.find(tx, "k-1")) is None
    (row,) = living(app)
    assert (row.message_id, row.settles) == (first.entry.message_id, first.entry.id)


async def test_a_rollback_takes_the_key_along(app: Todoke, desk: Desk) -> None:
    """ID-1"""
    with pytest.raises(ZeroDivisionError):
        async with desk.transaction() as tx:
            await awaited(app.ledger.accept(tx, "k-1", {"n": 1}))
            _ = 1 / 0
    async with desk.transaction() as tx:
        assert isinstance(await awaited(app.ledger.accept(tx, "k-1", {"n": 2})), Accepted)


async def test_what_commits_by_itself_is_refused(app: Todoke, desk: Desk) -> None:
    """ID-1: the key would be taken, whatever becomes of the request"""
    async with desk.autocommit() as tx:
        with pytest.raises(NotInTransaction, match=r"ledger\.accept got"):
            await awaited(app.ledger.accept(tx, "k-1", {}))


async def test_another_database_is_refused(
    app: Todoke, desk: Desk, request: pytest.FixtureRequest
) -> None:
    """ID-1"""
    name = {"postgresql": "postgres"}.get(app.database.kind, app.database.kind)
    if name == "sqlite":
        other = f"{app.url.set(database=f'{app.url.database}-other')}"
    else:
        other = str(request.getfixturevalue(f"{name}_database"))
    async with desk.elsewhere(other) as tx:
        with pytest.raises(OtherDatabase, match="two databases cannot commit as one"):
            await awaited(app.ledger.accept(tx, "k-1", {}))
