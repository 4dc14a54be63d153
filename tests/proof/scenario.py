"""A small application for the proofs: one event of every kind that matters, and their handlers."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import text
from sqlalchemy.orm import Session

from tests.proof.evidence import Expected
from todoke import Attempt, Event, Key, PermanentError, Todoke, TransientError
from todoke.operate import Accepted, LedgerEntry

Call = Callable[[str, str], str]
"""Tells the recorder that a handler was called; answers a token."""


class Proven(Event, context="proof", aggregate="case"):
    case: Key[int]


class Paid(Proven):
    """One handler with a session."""


class Mailed(Proven):
    """One handler without."""


class Shipped(Proven):
    """Two handlers: a delivery each."""


class Flaky(Proven):
    """Fails twice, then works."""


class Doomed(Proven):
    """Always fails for the moment, until its attempts are used up."""


class Broken(Proven):
    """Fails for good."""


class Chained(Proven):
    """Its handler answers with another event."""


class Asking(Proven):
    """What it did is unknown after a crash."""


_CRASH = frozenset({"CRASHED"})

KINDS: dict[type[Proven], list[Expected]] = {
    Paid: [Expected("pay", uses_session=True, may_die_of=_CRASH)],
    Mailed: [Expected("mail", may_die_of=_CRASH)],
    Shipped: [
        Expected("ship", uses_session=True, may_die_of=_CRASH),
        Expected("tell", may_die_of=_CRASH),
    ],
    Flaky: [Expected("try-again", uses_session=True, may_die_of=_CRASH)],
    Doomed: [Expected("never", must_die=True, may_die_of=_CRASH | {"TRANSIENT_ERROR"})],
    Broken: [Expected("refuse", must_die=True, may_die_of=_CRASH | {"BROKEN"})],
    Chained: [Expected("forward", may_die_of=_CRASH)],
    Asking: [Expected("ask", may_die_of=_CRASH | {"OUTCOME_UNKNOWN"})],
}


WEIGHTS = [4, 2, 4, 1, 1, 1, 2, 1]
"""How often a client draws each kind: rarely those that only wait for their next attempt."""
CROWDED_WEIGHTS = [4, 1, 2, 4, 1, 1, 1, 1]
"""Of one key: often those that the others have to wait for."""


def expected() -> dict[str, list[Expected]]:
    return {kind.__name__: wishes for kind, wishes in KINDS.items()}


def accept(app: Todoke, session: Session) -> LedgerEntry:
    """A key of the ledger that nobody has used."""
    answer = app.ledger.accept(session, str(app.identities.draw()), {"case": 1})
    assert isinstance(answer, Accepted)
    return answer.entry


def register(app: Todoke, called: Call) -> None:
    """Give the application its handlers; each tells the recorder that it was called."""

    def effect(session: Session, attempt: Attempt, handler: str) -> None:
        event = attempt.message.id.hex
        row = {"event": event, "handler": handler, "token": called(event, handler)}
        session.execute(text("INSERT INTO effects VALUES (:event, :handler, :token)"), row)

    @app.on(Paid)
    def pay(event: Paid, session: Session, attempt: Attempt) -> None:
        effect(session, attempt, "pay")

    @app.on(Mailed)
    def mail(event: Mailed, attempt: Attempt) -> None:
        called(attempt.message.id.hex, "mail")
        attempt.check()

    @app.on(Shipped)
    def ship(event: Shipped, session: Session, attempt: Attempt) -> None:
        effect(session, attempt, "ship")

    @app.on(Shipped)
    def tell(event: Shipped, attempt: Attempt) -> None:
        called(attempt.message.id.hex, "tell")

    @app.on(Flaky, name="try-again")
    def try_again(event: Flaky, session: Session, attempt: Attempt) -> None:
        effect(session, attempt, "try-again")
        if attempt.number < 3:
            raise TransientError("not yet")

    @app.on(Doomed)
    def never(event: Doomed, attempt: Attempt) -> None:
        called(attempt.message.id.hex, "never")
        raise TransientError("never")

    @app.on(Broken)
    def refuse(event: Broken, attempt: Attempt) -> None:
        called(attempt.message.id.hex, "refuse")
        raise PermanentError("cannot be", code="BROKEN")

    @app.on(Chained)
    def forward(event: Chained, attempt: Attempt) -> Mailed:
        called(attempt.message.id.hex, "forward")
        return Mailed(case=event.case)

    @app.on(Asking, on_crash="ask")
    def ask(event: Asking, attempt: Attempt) -> None:
        called(attempt.message.id.hex, "ask")
        attempt.check()
