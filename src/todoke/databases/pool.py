"""Connections that have rested are tried before they are used.

After an outage the first to come would meet a dead connection. Asking before every use, as
`pool_pre_ping` does, is a trip to the server for each transaction; one that was in use a moment ago
is most likely alive, and whoever meets a dead one all the same runs again.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError

_RESTED_SINCE = "todoke_rested_since"
_A_WHILE = 0.02


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
