"""Plans that PostgreSQL keeps stay good: for other values than it knew, and for fuller tables."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, create_engine, make_url, text

from tests.application import Noted, Placed, application, publish, register
from tests.waiting import until
from todoke import Todoke, TransientError
from todoke.testing import Clock
from todoke.work.strand import LANES

# A few rows are read without an index, and the first plans of a statement know its values.
_AS_LATER = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off"


def test_plans_that_know_no_values_use_the_indexes_of_some_states(postgres_database: str) -> None:
    """OB-9: what is claimed, due or held is found by its own index, however often it is asked."""
    url = make_url(postgres_database).update_query_dict({"options": _AS_LATER})
    clock = Clock()
    with application(url.render_as_string(hide_password=False), clock=clock) as app:
        fails = True

        @app.on(Placed)
        def handle(event: Placed) -> None:
            if fails:
                raise TransientError("not now")

        publish(app, *[Placed(order_id=1) for _ in range(5)])
        app.drain()
        fails = False
        clock.advance("1h")
        app.drain()
    scans = _scans(postgres_database)
    unused = {name for name in ("claim", "due", "held") if not scans[f"outbox_{name}"]}
    assert not unused


@pytest.mark.parametrize("whose", ["ours", "the user's"])
def test_plans_made_while_nothing_waits_are_good_when_much_comes(
    postgres_database: str, whose: str
) -> None:
    """OB-5: an idle worker asks an empty table, for which no plan is better than to read it all."""
    engine = _engine(postgres_database) if whose == "the user's" else None
    with application(postgres_database if engine is None else engine) as app:
        worker = register(app, 3600)
        with app.agents_engine.connect() as connection:
            for _ in range(20):
                assert not _claimed(app, connection, worker)
            publish(app, *[Placed(order_id=number) for number in range(2000)])
            publish(app, *[Noted(order_id=number) for number in range(2000)])
            before = _read_without_index(app)
            assert _claimed(app, connection, worker) == 200
            connection.execute(text("SELECT pg_stat_force_next_flush()"))
            connection.commit()
        assert _read_without_index(app) == before
    if engine is not None:
        engine.dispose()


def _claimed(app: Todoke, connection: Connection, worker: UUID) -> int:
    claims, stream = app.claims[0], "todoke/default"
    ordered = claims.take_ordered(connection, worker, stream, range(LANES), 2, 100)
    return len(ordered) + len(claims.take(connection, worker, stream, 100))


def _read_without_index(app: Todoke) -> int:
    """Rows of the outbox that were passed by reading all of it."""
    told = text("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'outbox'")
    with app.engine.connect() as connection:
        return int(connection.execute(told).scalar_one())


def _engine(url: str) -> Engine:
    return create_engine(make_url(url).set(drivername="postgresql+psycopg"))


def _scans(url: str) -> dict[str, int]:
    """How often each index was looked into; connections tell it when they end."""
    engine = _engine(url)
    told = text("SELECT indexrelname, idx_scan FROM pg_stat_user_indexes")
    with engine.connect() as connection:
        found = {row.indexrelname: row.idx_scan for row in connection.execute(told)}
    engine.dispose()
    return found


@pytest.mark.parametrize("taken", [True, False])
def test_a_row_that_changed_while_it_was_claimed_is_taken_by_one(
    postgres_database: str, taken: bool
) -> None:
    """OB-5 OB-9: the claim has found its place already, and waits for who is changing it"""
    with application(postgres_database) as app, ThreadPoolExecutor(1) as thread:
        worker, other = register(app, 3600), register(app, 3600)
        publish(app, Placed(order_id=1))
        live = app.outbox_table.live
        with app.agents_engine.connect() as connection:
            with app.engine.begin() as changing:
                changed = {"owner": other} if taken else {"spared": live.c.spared + 1}
                changing.execute(live.update().values(**changed))
                claim = thread.submit(_claimed, app, connection, worker)
                until(lambda: _waiting_for_a_row(app))
            claimed = claim.result(10)
            again = _claimed(app, connection, worker)
    assert claimed + again == (0 if taken else 1)


def _waiting_for_a_row(app: Todoke) -> bool:
    told = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with app.engine.connect() as connection:
        return bool(connection.execute(told).scalar_one())
