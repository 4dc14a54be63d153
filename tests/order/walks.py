"""Events that walk step by step, and a journal of the steps that handlers saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import living
from todoke import Context, Event, Key, Todoke
from todoke.outcome import Outcome

STREAM = "todoke/default"
WAYS = ("plain", "async plain", "session", "async session")
Answer = Outcome | Exception | None


class Walked(Event, aggregate="walk"):
    """The next step of a walk."""

    walker: Key[str]
    step: int


class Strolled(Walked, followers="skip"):
    """Those that follow do not wait for one that died."""


class Marched(Walked, followers="block"):
    """Those that follow wait for ever."""


def steps(walker: str, *numbers: int, kind: type[Walked] = Walked) -> list[Walked]:
    return [kind(walker=walker, step=number) for number in numbers]


@dataclass
class Journal:
    """Notes the steps that got through; the others get the answers a test has laid out."""

    seen: list[tuple[str, int]] = field(default_factory=list)
    tried: list[tuple[str, int]] = field(default_factory=list)
    answers: dict[tuple[str, int], list[Answer]] = field(default_factory=dict)

    def answer(self, walker: str, step: int, *answers: Answer) -> None:
        """What the handler says at this step, once each; then it gets through."""
        self.answers[walker, step] = list(answers)

    def always(self, walker: str, step: int, answer: Answer) -> None:
        self.answers[walker, step] = [answer] * 1000

    def fine_now(self) -> None:
        self.answers.clear()

    def enter(self, event: Walked) -> Outcome | None:
        place = event.walker, event.step
        self.tried.append(place)
        waiting = self.answers.get(place)
        answer = waiting.pop(0) if waiting else None
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            self.seen.append(place)
        return answer

    def of(self, walker: str) -> list[int]:
        return [step for one, step in self.seen if one == walker]


def listen(
    on: Context,
    journal: Journal,
    way: str = "plain",
    kind: type[Walked] = Walked,
    **options: Any,
) -> None:
    """Register a handler that writes the journal, in one of four ways."""
    register = on.on(kind, **{"name": "note", **options})
    if way == "plain":

        @register
        def note(event: Walked) -> Outcome | None:
            return journal.enter(event)

    elif way == "async plain":

        @register
        async def note_async(event: Walked) -> Outcome | None:
            return journal.enter(event)

    elif way == "session":

        @register
        def note_session(event: Walked, session: Session) -> Outcome | None:
            return journal.enter(event)

    else:

        @register
        async def note_async_session(event: Walked, session: AsyncSession) -> Outcome | None:
            return journal.enter(event)


def states(app: Todoke) -> list[str]:
    """Of the outbox's rows, oldest first."""
    return [row.state for row in living(app)]


def barriers(app: Todoke) -> Sequence[int]:
    return [row.barrier for row in rows_of_holds(app)]


def rows_of_holds(app: Todoke) -> list[Any]:
    with app.engine.connect() as connection:
        return list(connection.execute(app.hold_table.select()))


def later(app: Todoke, clock: Any, by: str = "10s") -> None:
    """Time passes, and what is due then is done."""
    clock.advance(by)
    app.drain()


def redrive(app: Todoke, **options: Any) -> int:
    with app.session() as session:
        chosen = app.dead_letters.where()
        operation = app.dead_letters.redrive(
            session, chosen, by="mika", reason="the cause is gone", **options
        )
        return operation.done


def resolve(app: Todoke) -> int:
    with app.session() as session:
        chosen = app.dead_letters.where()
        operation = app.dead_letters.resolve(session, chosen, by="mika", reason="too late")
        return operation.done
