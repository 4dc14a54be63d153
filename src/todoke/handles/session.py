"""SQLAlchemy's sessions, and the connection that each has to todoke's tables."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.orm import Session

from todoke.database import safe_url, same_database
from todoke.errors import NotInTransaction, OtherDatabase


def check(session: Session, table: Table, engine: Engine, call: str) -> None:
    """Refuses one that leads elsewhere, or commits by itself."""
    try:
        bind = session.get_bind(clause=table)
    except UnboundExecutionError:
        raise OtherDatabase(
            call, "no database (bind it, or name todoke's tables in `binds`)", safe_url(engine.url)
        ) from None
    theirs = bind.engine
    if theirs is not engine and not same_database(theirs.url, engine.url):
        raise OtherDatabase(call, safe_url(theirs.url), safe_url(engine.url))
    always = getattr(theirs.dialect, "_on_connect_isolation_level", None)
    if bind.get_execution_options().get("isolation_level", always) == "AUTOCOMMIT":
        raise NotInTransaction(call, "a Session", "Bind it to an engine without AUTOCOMMIT.")


def connection_of(session: Session, table: Table) -> Connection:
    """The one it writes this table on, in its present transaction."""
    return session.connection(bind_arguments={"clause": table})
