"""What the ledger's tests ask for, and what they see of it."""

from __future__ import annotations

from typing import Any

from todoke import Event, Todoke
from todoke.operate import Accepted, LedgerEntry


class Send(Event, ordered=False):
    """A wish that somebody else carries out later."""

    number: int = 1


def accept(app: Todoke, key: str = "k-1", request: object = None, **scope: Any) -> Any:
    """Ask in a transaction of its own."""
    with app.session() as session:
        return app.ledger.accept(session, key, {"n": 1} if request is None else request, **scope)


def order(app: Todoke, key: str = "k-1", event: Event | None = None) -> LedgerEntry:
    """Accept a key and publish what settles it, in one transaction."""
    with app.session() as session:
        answer = app.ledger.accept(session, key, {"n": 1})
        assert isinstance(answer, Accepted)
        app.publish(session, event or Send(), settles=answer.entry)
    return answer.entry


def entry(app: Todoke, key: str = "k-1") -> LedgerEntry:
    with app.session() as session:
        found = app.ledger.find(session, key)
    assert found is not None
    return found
