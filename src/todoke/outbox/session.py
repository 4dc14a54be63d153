"""SQLAlchemy's sessions: rows wait, like `session.add`, and go in before the commit."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, event
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.orm import Session, SessionTransaction

from todoke.database import safe_url, same_database
from todoke.errors import NotInTransaction, OtherDatabase
from todoke.outbox.connection import write
from todoke.outbox.publish import Outbox
from todoke.outbox.row import Row

_WAITING = "todoke_waiting"
_COMMITTING = "todoke_committing"


def keep(outbox: Outbox, session: Session, rows: list[Row], engine: Engine, call: str) -> None:
    """A Session keeps rows until its commit, like `session.add`."""
    _check_bind(outbox, session, engine, call)
    if not rows:
        return
    if session.get_transaction() is None:
        session.begin()
    waiting = _Waiting(outbox, rows, _innermost(session))
    session.info.setdefault(_WAITING, []).append(waiting)
    if _COMMITTING in session.info:
        # Published by a hook of the commit itself: nobody comes by again to write it.
        _write_all(session, [waiting])


@dataclass(slots=True, eq=False)
class _Waiting:
    """Rows that a Session will write: where they were published, and where they were written."""

    outbox: Outbox
    rows: list[Row]
    published_in: SessionTransaction
    written_in: SessionTransaction | None = None


def _check_bind(outbox: Outbox, session: Session, engine: Engine, call: str) -> None:
    try:
        bind = session.get_bind(clause=outbox.table.live)
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


@event.listens_for(Session, "before_commit")
def _write_waiting(session: Session) -> None:
    """Before a COMMIT, and before the end of a savepoint; which of the two, nobody tells."""
    session.info[_COMMITTING] = True
    waiting = [one for one in session.info.get(_WAITING, ()) if one.written_in is None]
    if waiting:
        session.flush()  # the caller's own rows first: their locks then guard the events' order
        _write_all(session, waiting)


def _write_all(session: Session, waiting: list[_Waiting]) -> None:
    here = _innermost(session)
    for outbox in dict.fromkeys(one.outbox for one in waiting):
        mine = [one for one in waiting if one.outbox is outbox]
        connection = session.connection(bind_arguments={"clause": outbox.table.live})
        rows = [row for one in mine for row in one.rows]
        write(connection, outbox, rows, connection.engine, "publish")
        for one in mine:
            one.written_in = here


@event.listens_for(Session, "after_soft_rollback")
def _after_rollback(session: Session, ended: SessionTransaction) -> None:
    """What was published inside is dropped; what was only written inside is written again."""
    session.info.pop(_COMMITTING, None)
    waiting: list[_Waiting] = session.info.get(_WAITING, [])
    waiting[:] = [one for one in waiting if not _inside(one.published_in, ended)]
    for one in waiting:
        if _inside(one.written_in, ended):
            one.written_in = None


@event.listens_for(Session, "after_transaction_end")
def _forget(session: Session, ended: SessionTransaction) -> None:
    if ended.parent is None or ended.nested:
        session.info.pop(_COMMITTING, None)
    if ended.parent is None:
        session.info.pop(_WAITING, None)


def _innermost(session: Session) -> SessionTransaction:
    inner = session.get_nested_transaction() or session.get_transaction()
    assert inner is not None  # noqa: S101
    return inner


def _inside(inner: SessionTransaction | None, ended: SessionTransaction) -> bool:
    while inner is not None:
        if inner is ended:
            return True
        inner = inner.parent
    return False
