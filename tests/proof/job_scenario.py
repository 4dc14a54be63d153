"""Jobs for the proofs: one of every kind that matters, and what clients wish of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.orm import Session

from tests.proof.evidence import Evidence, Expected, Published, Told
from tests.proof.job_evidence import FAILED, THEN, Planned, Repeated, chunk_name
from todoke import Job, Run, Todoke, TransientError, batch, chain, codec

Call = Callable[[str, str], str]
"""Tells the recorder that a job was called; answers a token."""
CHUNKS = 3
_CRASH = frozenset({"CRASHED"})


class Work(BaseModel):
    """Which wish of a client, and which part of it."""

    case: int
    part: str = "0"

    @property
    def job(self) -> str:
        return f"{self.case}/{self.part}"

    @property
    def text(self) -> str:
        """As it stands in the row."""
        return codec.dump(self.model_dump(mode="json"))


EXPECTED = {
    "note": Expected("note", may_die_of=_CRASH),
    "book": Expected("book", uses_session=True, may_die_of=_CRASH),
    "stumble": Expected("stumble", uses_session=True, may_die_of=_CRASH),
    "give-up": Expected("give-up", must_die=True, may_die_of=_CRASH | {"TRANSIENT_ERROR"}),
    "linger": Expected("linger", may_die_of=_CRASH),
    "walk": Expected("walk", may_die_of=_CRASH),
    "idle": Expected("idle", may_die_of=_CRASH, is_off=True),
    "close": Expected("close", may_die_of=_CRASH),
}
SETTINGS: dict[str, object] = {"jobs.enabled.idle": False, "jobs.keep_successes": 1_000_000}


def expected() -> dict[str, list[Expected]]:
    return {name: [one] for name, one in EXPECTED.items()}


def identity(body: str) -> str:
    return Work.model_validate_json(body).job


def declare(app: Todoke, called: Call, pause: Callable[[], None]) -> None:
    """Give the application its jobs; each tells the recorder that it was called."""

    def effect(session: Session, work: Work, what: str, name: str) -> None:
        row = {"event": work.job, "handler": what, "token": called(work.job, name)}
        session.execute(text("INSERT INTO effects VALUES (:event, :handler, :token)"), row)

    def fetch(_session: Session, after: int | None, _size: int) -> Sequence[int]:
        following = 0 if after is None else after + 1
        return [following] if following < CHUNKS else []

    @app.job()
    def note(work: Work) -> None:
        called(work.job, "note")

    @app.job()
    def book(work: Work, session: Session) -> None:
        effect(session, work, "book", "book")

    @app.job()
    def stumble(work: Work, session: Session, run: Run) -> str:
        effect(session, work, "stumble", "stumble")
        if run.number < 3:
            raise TransientError("not yet")
        return "at last"

    @app.job()
    def give_up(work: Work) -> None:
        called(work.job, "give-up")
        raise TransientError("never")

    @app.job()
    def linger(work: Work, run: Run) -> int:
        called(work.job, "linger")
        for _ in run.track(range(2)):
            pause()
        return 2

    @app.job()
    def walk(work: Work, run: Run) -> None:
        for session, numbers in run.chunks(fetch, cursor=lambda number: number, size=1):
            effect(session, work, chunk_name(numbers[0]), "walk")

    @app.job()
    def idle(work: Work) -> None:
        called(work.job, "idle")

    @app.job()
    def close(work: Work) -> None:
        called(work.job, "close")


class Client:
    """Enqueues what chance wishes, and notes down what it was told."""

    def __init__(self, app: Todoke, chance: Random) -> None:
        self._app, self._chance = app, chance
        self._jobs: dict[str, Job[Work, Any]] = {
            name: one.job for name, one in app.handlers.jobs.items()
        }
        self._wishes = (self._alone, self._under_a_key, self._one_by_one, self._together)

    def enqueue(self, case: int, session: Session) -> Callable[[Evidence, Told], None]:
        """One wish; answers what notes it down, once it is known how the transaction ended."""
        return self._chance.choice(self._wishes)(case, session)

    def _alone(self, case: int, session: Session) -> Callable[[Evidence, Told], None]:
        name = self._chance.choice(("note", "stumble", "give-up", "linger", "walk", "idle"))
        work = Work(case=case)
        self._jobs[name].enqueue(session, work)

        def told(evidence: Evidence, told: Told) -> None:
            _note(evidence, name, work, told)

        return told

    def _under_a_key(self, case: int, session: Session) -> Callable[[Evidence, Told], None]:
        name = self._chance.choice(("book", "stumble", "linger"))
        key, work = "key", Work(case=case)
        ref = self._jobs[name].enqueue(session, work, unique=key)

        def told(evidence: Evidence, told: Told) -> None:
            if ref.existed and told == "ok":
                evidence.jobs.repeated.append(Repeated(key, ref.id.hex))
            else:
                evidence.jobs.keys[work.job] = key
            _note(evidence, name, work, "fail" if ref.existed else told)

        return told

    def _one_by_one(self, case: int, session: Session) -> Callable[[Evidence, Told], None]:
        names = self._chance.choices(("book", "linger", "walk", "idle"), (3, 2, 2, 1), k=3)
        links = [Work(case=case, part=str(number)) for number in range(len(names))]
        calls = [self._jobs[name].bind(work) for name, work in zip(names, links, strict=True)]
        self._app.enqueue(session, chain(*calls))

        def told(evidence: Evidence, told: Told) -> None:
            if told == "ok":
                parts = tuple(work.job for work in links)
                evidence.jobs.planned.append(Planned(case, "chain", parts))
            _note(evidence, names[0], links[0], told)
            for name, work in zip(names[1:], links[1:], strict=True):
                _note(evidence, name, work, "unknown" if told == "ok" else told)

        return told

    def _together(self, case: int, session: Session) -> Callable[[Evidence, Told], None]:
        kinds = ("note", "book", "stumble", "give-up", "idle")
        names = self._chance.choices(kinds, (2, 2, 1, 1, 2), k=self._chance.randint(1, 3))
        members = [Work(case=case, part=str(number)) for number in range(len(names))]
        calls = [self._jobs[name].bind(work) for name, work in zip(names, members, strict=True)]
        then, failed = (
            self._jobs["close"].bind(Work(case=case, part=one)) for one in (THEN, FAILED)
        )
        self._app.enqueue(session, batch(calls, then=then, failed=failed, name=str(case)))

        def told(evidence: Evidence, told: Told) -> None:
            if told == "ok":
                parts = tuple(work.job for work in members)
                evidence.jobs.planned.append(Planned(case, "batch", parts))
            for name, work in zip(names, members, strict=True):
                _note(evidence, name, work, told)
            for which in (THEN, FAILED):
                following = "unknown" if told == "ok" else told
                _note(evidence, "close", Work(case=case, part=which), following)

        return told


def _note(evidence: Evidence, name: str, work: Work, told: Told) -> None:
    evidence.published.append(Published(work.job, name, work.text, told))
    if name == "idle":
        evidence.jobs.off.add(work.job)
    if name == "walk":
        evidence.jobs.chunks[work.job] = CHUNKS
