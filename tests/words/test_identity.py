"""Ids sort by time and say so in their bits."""

from __future__ import annotations

import secrets
import threading
from datetime import UTC, datetime
from uuid import UUID

import pytest

from todoke.identity import Identities, kebab, screaming
from todoke.testing import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def identities(clock: Clock) -> Identities:
    return Identities(clock, secrets.randbits)


def test_an_id_is_a_uuid_of_version_seven(identities: Identities) -> None:
    """OB-2"""
    drawn = identities.draw()
    assert (drawn.version, drawn.variant) == (7, UUID(int=0x8 << 60).variant)


def test_an_id_holds_its_moment(identities: Identities, clock: Clock) -> None:
    """OB-2"""
    clock.set(datetime(2026, 3, 4, 5, 6, 7, 891_000, tzinfo=UTC))
    assert identities.draw().int >> 80 == int(clock.now().timestamp() * 1000)


def test_ids_of_one_burst_keep_their_order(identities: Identities) -> None:
    """OB-2"""
    drawn = [identities.draw() for _ in range(20_000)]
    assert drawn == sorted(set(drawn))


def test_ids_keep_their_order_when_the_clock_goes_back(
    identities: Identities, clock: Clock
) -> None:
    """OB-2"""
    first = identities.draw()
    clock.set(datetime(2020, 1, 1, tzinfo=UTC))
    assert identities.draw() > first


def test_ids_of_many_threads_are_all_different(identities: Identities) -> None:
    """OB-2"""
    drawn: list[list[UUID]] = [[] for _ in range(8)]

    def draw(into: list[UUID]) -> None:
        into.extend(identities.draw() for _ in range(2_000))

    threads = [threading.Thread(target=draw, args=[into]) for into in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    moments = [one.int >> 64 for into in drawn for one in into]
    assert len(set(moments)) == 16_000
    assert all(into == sorted(into) for into in drawn)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OrderConfirmed", "order-confirmed"),
        ("order_confirmed", "order-confirmed"),
        ("ORDER_CONFIRMED", "order-confirmed"),
        ("HTTPError", "http-error"),
        ("Order2Placed", "order2-placed"),
    ],
)
def test_names_are_written_in_kebab_case(name: str, expected: str) -> None:
    """OB-2"""
    assert kebab(name) == expected


def test_codes_are_written_in_capitals() -> None:
    """ER-3"""
    assert screaming("ConnectionRefusedError") == "CONNECTION_REFUSED_ERROR"
