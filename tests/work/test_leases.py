"""Leases in rows: who is alive, by the clock of the test, on both databases."""

from __future__ import annotations

import pytest

from tests.application import application, leases, register
from todoke import Todoke
from todoke.testing import Clock
from todoke.work.lease import RowLeases, Service


@pytest.fixture
def kept(app: Todoke) -> RowLeases:
    return leases(app)


def test_a_registered_process_lives_until_its_lease_runs_out(
    app: Todoke, kept: RowLeases, clock: Clock
) -> None:
    """OB-7"""
    worker = register(app, placed=["mail"])
    service = Service({"*/placed": {"mail": "todoke/default"}}, {})
    clock.advance("15s")
    with app.engine.begin() as connection:
        assert kept.living(connection) == {worker: service}
        assert kept.expired(connection) == []
    clock.advance("1ms")
    with app.engine.begin() as connection:
        assert kept.living(connection) == {}
        assert kept.expired(connection) == [worker]


def test_a_renewed_lease_lasts_longer(app: Todoke, kept: RowLeases, clock: Clock) -> None:
    """OB-7"""
    worker = register(app)
    clock.advance("10s")
    with app.engine.begin() as connection:
        assert kept.renew(connection, worker)
    clock.advance("15s")
    with app.engine.begin() as connection:
        assert list(kept.living(connection)) == [worker]


def test_a_lost_lease_cannot_be_renewed(app: Todoke, kept: RowLeases) -> None:
    """OB-7"""
    worker = register(app)
    with app.engine.begin() as connection:
        kept.deregister(connection, worker)
        assert not kept.renew(connection, worker)


def test_a_rescuer_does_not_wait_for_another_rescuer(postgres_copy: str) -> None:
    """OB-7"""
    clock = Clock()
    with application(postgres_copy, clock=clock) as app:
        worker = register(app)
        clock.advance("16s")
        with app.engine.begin() as one, app.engine.begin() as other:
            assert leases(app).expired(one) == [worker]
            assert leases(app).expired(other) == []
