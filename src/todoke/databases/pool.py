"""Connections that have rested are tried before they are used, and none outlives a fork.

After an outage the first to come would meet a dead connection. Asking before every use, as
`pool_pre_ping` does, is a trip to the server for each transaction; one that was in use a moment ago
is most likely alive, and whoever meets a dead one all the same runs again.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from sqlalchemy import Engine, Pool, StaticPool, event
from sqlalchemy.exc import DisconnectionError

from todoke.fork import after_fork

_RESTED_SINCE = "todoke_rested_since"
_A_WHILE = 0.02
# Not even forgotten: some drivers say goodbye to the server in the parent's name.
_inherited: list[Pool] = []


def leave_to_parent(engine: Engine) -> Engine:
    """A forked child opens its own connections."""
    # What lies in memory was copied by the fork: it is the child's own already.
    return engine if isinstance(engine.pool, StaticPool) else after_fork(engine, _begin_anew)


def _begin_anew(engine: Engine) -> None:
    _inherited.append(engine.pool)
    engine.dispose(close=False)


def try_after_a_rest(engine: Engine) -> Engine:
    dialect: Any = engine.dialect

    @event.listens_for(engine, "checkin")
    def rest(_connection: Any, record: Any) -> None:
        record.info[_RESTED_SINCE] = monotonic()

    @event.listens_for(engine, "checkout")
    def wake(connection: Any, record: Any, _fairy: Any) -> None:
        since = record.info.get(_RESTED_SINCE)
        if since is None or monotonic() - since < _A_WHILE:
            return
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            if dialect.is_disconnect(error, connection, None):
                raise DisconnectionError from error
            raise

    return engine
