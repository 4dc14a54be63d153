"""What cannot be delivered is refused at once, says what to do, and writes nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.application import Placed, living
from tests.publish.desks import Desk
from todoke import Event, Key, Todoke
from todoke.errors import (
    InvalidEvent,
    InvalidOption,
    NotInTransaction,
    NullKey,
    Oversized,
    UnknownEvent,
    Unserialisable,
)


class Named(Event):
    name: Key[str | None]


class Measured(Event, ordered=False):
    value: float = 0.0


class Loose(Event, ordered=False):
    anything: Any = None


class Keyless(Event):
    text: str = ""


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


REFUSED = [
    pytest.param(Named(name=None), NullKey, "Set `name` before publishing", id="null key"),
    pytest.param(Named(name=""), NullKey, "Set `name` before publishing", id="empty key"),
    pytest.param(Named(name="k" * 256), InvalidEvent, "Use the aggregate's id", id="long key"),
    pytest.param(Named(name="a\0b"), InvalidEvent, "Use the aggregate's id", id="NUL in the key"),
    pytest.param(Named(name="\ud800"), InvalidEvent, "Use", id="half a character in the key"),
    pytest.param(Keyless(), InvalidEvent, "`ordered=False`", id="no key"),
    pytest.param(Measured(value=float("nan")), Unserialisable, "Use text", id="NaN"),
    pytest.param(Loose(anything=[float("nan")]), Unserialisable, "Use text", id="NaN in a list"),
    pytest.param(Loose(anything=object()), Unserialisable, "Use text", id="an object"),
    pytest.param(Loose(anything="\ud800"), Unserialisable, "Use text", id="half a character"),
    pytest.param(Loose(anything=nested(33)), Unserialisable, "Use text", id="too deep"),
    pytest.param(
        Placed(order_id=1, note="x" * 1024 * 1024), Oversized, "publish its id", id="too large"
    ),
]


@pytest.mark.parametrize(("event", "error", "remedy"), REFUSED)
async def test_an_event_that_cannot_arrive_is_refused_with_the_remedy(
    app: Todoke, desk: Desk, event: Event, error: type[Exception], remedy: str
) -> None:
    """OB-2"""
    async with desk.transaction() as tx:
        with pytest.raises(error, match=re.escape(remedy)):
            await desk.publish(tx, event)
    assert living(app) == []


async def test_one_refused_event_of_many_refuses_all(app: Todoke, desk: Desk) -> None:
    """OB-1 OB-2"""
    async with desk.transaction() as tx:
        with pytest.raises(NullKey):
            await desk.publish_all(tx, [Placed(order_id=1), Named(name=None)])
    assert living(app) == []


async def test_a_body_of_exactly_one_mebibyte_is_taken(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    frame = len('{"note":"","order_id":1}')
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1, note="x" * (1024 * 1024 - frame)))
    assert len(living(app)[0].body) == 1024 * 1024


async def test_one_byte_more_is_refused(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    frame = len('{"note":"","order_id":1}')
    async with desk.transaction() as tx:
        with pytest.raises(Oversized, match="1,048,577 bytes, the limit is 1,048,576"):
            await desk.publish(tx, Placed(order_id=1, note="x" * (1024 * 1024 + 1 - frame)))
    assert living(app) == []


async def test_autocommit_is_refused(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.autocommit() as tx:
        with pytest.raises(NotInTransaction, match="AUTOCOMMIT"):
            await desk.publish(tx, Placed(order_id=1))
    assert living(app) == []


async def test_what_is_no_event_is_refused(desk: Desk) -> None:
    """OB-2"""
    async with desk.transaction() as tx:
        with pytest.raises(UnknownEvent, match=r"Derive its class from todoke\.Event"):
            await desk.publish(tx, {"order_id": 1})  # type: ignore[arg-type]


async def test_a_delay_without_a_unit_is_refused(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    async with desk.transaction() as tx:
        with pytest.raises(InvalidOption, match='Write "5s"'):
            await desk.publish(tx, Placed(order_id=1), delay=5)
    assert living(app) == []


async def test_a_refusal_leaves_the_transaction_usable(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        with pytest.raises(NullKey):
            await desk.publish(tx, Named(name=None))
        await desk.publish(tx, Placed(order_id=2))
    assert [row.key for row in living(app)] == ["2"]
