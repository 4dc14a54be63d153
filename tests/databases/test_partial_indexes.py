"""Indexes of some states only are used, even by plans that were made before the values came."""

from __future__ import annotations

from sqlalchemy import create_engine, make_url, text

from tests.application import Placed, application, publish
from todoke import TransientError
from todoke.testing import Clock

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


def _scans(url: str) -> dict[str, int]:
    """How often each index was looked into; connections tell it when they end."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    told = text("SELECT indexrelname, idx_scan FROM pg_stat_user_indexes")
    with engine.connect() as connection:
        found = {row.indexrelname: row.idx_scan for row in connection.execute(told)}
    engine.dispose()
    return found
