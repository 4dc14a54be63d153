"""SQLAlchemy's sessions: rows wait, like `session.add`, and go in before the commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine, event
from sqlalchemy.orm import Session, SessionTransaction

from todoke.handles import connection as connections
from todoke.handles.session import check, connection_of
from todoke.work.row import Row

if TYPE_CHECKING:
    from todoke.handles.give import Writer

_WAITING = "todoke_waiting"
_COMMITTING = "todoke_committing"


def keep(writer: Writer, session: Session, rows: list[Row], engine: Engine, call: str) -> None:
    """A Session keeps rows until its commit, like `session.add`."""
    check(session, writer.table.live, engine, call)
    if not rows:
        return
    if session.get_transaction() is None:
        session.begin()
    waiting = _Waiting(writer, rows, _innermost(session))
    session.info.setdefault(_WAITING, []).append(waiting)
    if _COMMITTING in session.info:
        # Given by a hook of the commit itself: nobody comes by again to write it.
        _write_all(session, [waiting])


@dataclass(slots=True, eq=False)
class _Waiting:
    """Rows that a Session will write: where they were published, and where they were written."""

    writer: Writer
    rows: list[Row]
    published_in: SessionTransaction
    written_in: SessionTransaction | None = None


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
    for writer in dict.fromkeys(one.writer for one in waiting):
        mine = [one for one in waiting if one.writer is writer]
        connection = connection_of(session, writer.table.live)
        connections.check(writer.database, connection, connection.engine, "publish")
        writer.write(connection, [row for one in mine for row in one.rows])
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
