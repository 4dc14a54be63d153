"""One timer for all calls on the event loop: each is interrupted at its own limit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from todoke.work.deadline import Deadlines


async def limited(deadlines: Deadlines, seconds: float, work: Any) -> tuple[str, bool]:
    slot = asyncio.current_task()
    assert slot is not None
    deadlines.begin(slot, seconds)
    try:
        await work
        said = "ended"
    except asyncio.CancelledError:
        said = "interrupted"
    return said, deadlines.end(slot)


def test_each_call_has_its_own_limit_whichever_began_first() -> None:
    """OB-7"""

    async def two() -> list[tuple[str, bool]]:
        deadlines, never = Deadlines(), asyncio.Event()
        long = limited(deadlines, 60, _after(deadlines_passed := asyncio.Event()))
        waits = asyncio.create_task(long)
        await asyncio.sleep(0)
        short = await limited(deadlines, 0.01, never.wait())
        deadlines_passed.set()
        return [short, await waits]

    assert asyncio.run(two()) == [("interrupted", True), ("ended", False)]


def test_a_slot_that_was_interrupted_can_take_the_next_call() -> None:
    """OB-7"""

    async def again() -> tuple[tuple[str, bool], tuple[str, bool], int]:
        deadlines, slot = Deadlines(), asyncio.current_task()
        assert slot is not None
        first = await limited(deadlines, 0.01, asyncio.Event().wait())
        second = await limited(deadlines, 60, asyncio.sleep(0))
        return first, second, slot.cancelling()

    assert asyncio.run(again()) == (("interrupted", True), ("ended", False), 0)


def test_a_later_loop_starts_afresh() -> None:
    """OB-7: the event loop is made anew after the application was closed."""
    deadlines = Deadlines()

    async def once() -> tuple[str, bool]:
        return await limited(deadlines, 0.01, asyncio.Event().wait())

    assert asyncio.run(once()) == asyncio.run(once()) == ("interrupted", True)


async def _after(event: asyncio.Event) -> None:
    await event.wait()


@pytest.mark.parametrize("limits", [[0.01, 0.02, 0.03], [0.03, 0.02, 0.01]], ids=str)
def test_the_timer_is_set_again_for_those_that_are_left(limits: list[float]) -> None:
    """OB-7"""

    async def all_of_them() -> list[tuple[str, bool]]:
        deadlines, never = Deadlines(), asyncio.Event()
        calls = [limited(deadlines, limit, never.wait()) for limit in limits]
        return await asyncio.gather(*calls)

    assert asyncio.run(all_of_them()) == [("interrupted", True)] * 3
