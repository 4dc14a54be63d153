"""Bugs of jobs planted on purpose, to see that the random schedules catch them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection

from todoke import crash
from todoke.jobs import aftermath
from todoke.jobs.aftermath import Aftermath, Endings
from todoke.jobs.chunks import Chunks
from todoke.jobs.history import RunHistory
from todoke.jobs.unique_keys import UniqueKeys
from todoke.work import perform
from todoke.work.call import Fenced
from todoke.work.settle import Settling
from todoke.work.settlement import Later, Settled, Settlement
from todoke.work.settler import Settler

Plant = Callable[[pytest.MonkeyPatch], None]


def tell_of_what_was_fenced(patch: pytest.MonkeyPatch) -> None:
    """A witness that is told of settlements which were not written."""
    settling = Settling.settle

    def all_of_them(
        self: Settling, connection: Connection, owner: UUID, settlements: Any, *held: Any
    ) -> Settled:
        witness, self.witness = self.witness, None
        try:
            settled = settling(self, connection, owner, settlements, *held)
        finally:
            self.witness = witness
        if witness is not None:
            witness.write(connection, owner, settlements)
        return settled

    patch.setattr(Settling, "settle", all_of_them)


def tell_again_after_a_lost_reply(patch: pytest.MonkeyPatch) -> None:
    """A witness that is told again of what an earlier try had settled."""
    processed = Settling._processed

    def again(
        self: Settling, connection: Connection, owner: UUID, wishes: Any, settled: Settled
    ) -> set[int]:
        witnessed = processed(self, connection, owner, wishes, settled)
        seen = {one.item.id for one in wishes if self.was_settled(connection, owner, one.item)}
        silent = self.witness.is_silent if self.witness else lambda _one: True
        return witnessed | {
            one.item.id for one in wishes if one.item.id in seen and not silent(one)
        }

    patch.setattr(Settling, "_processed", again)


def follow_after_the_commit(patch: pytest.MonkeyPatch) -> None:
    """What follows a job, in a transaction of its own behind the settlement's."""
    ending, settling = Endings.write, Settler._write
    waiting: list[tuple[Any, Any]] = []

    class Later:
        def __init__(self, writer: Any) -> None:
            self.keys, self._writer = writer.keys, writer

        def write(self, _connection: Connection, rows: Any) -> None:
            waiting.append((self._writer, rows))

    def without(self: Endings, *given: Any, **how: Any) -> None:
        writer = self._writer
        self._writer = Later(writer)  # type: ignore[assignment]
        try:
            ending(self, *given, **how)
        finally:
            self._writer = writer

    def behind(self: Settler, connection: Connection, group: Any, settlements: Any) -> Settled:
        try:
            settled = settling(self, connection, group, settlements)
            with connection.begin():
                for writer, rows in waiting:
                    writer.write(connection, rows)
        finally:
            waiting.clear()
        return settled

    patch.setattr(Endings, "write", without)
    patch.setattr(Settler, "_write", behind)


def count_the_dead_twice(patch: pytest.MonkeyPatch) -> None:
    """A batch that is counted down with the burial of a member, and with its group again."""
    died = Aftermath.died

    def twice(self: Aftermath, *given: Any) -> None:
        died(self, *given)
        died(self, *given)

    patch.setattr(Aftermath, "died", twice)


def keep_the_key(patch: pytest.MonkeyPatch) -> None:
    """A unique key that stays taken when its job has ended."""
    patch.setattr(UniqueKeys, "free", lambda *_: None)


def share_the_key(patch: pytest.MonkeyPatch) -> None:
    """A second job that is enqueued under a key that is taken."""

    def taken_over(_self: UniqueKeys, _row: Any, _first: UUID, _here: Any) -> Any:
        return True
        yield

    patch.setattr(UniqueKeys, "_repeated", taken_over)


def forget_failed_attempts(patch: pytest.MonkeyPatch) -> None:
    """An attempt that is tried again, and that no run tells of."""
    told = aftermath._is_attempt
    patch.setattr(aftermath, "_is_attempt", lambda one: not isinstance(one, Later) and told(one))


def leave_lost_runs_running(patch: pytest.MonkeyPatch) -> None:
    """A run that is told of as running after its worker died."""
    patch.setattr(RunHistory, "lose", lambda *_: 0)


def tell_plain_successes_twice(patch: pytest.MonkeyPatch) -> None:
    """A success that its settled row tells of, and a run of its own."""
    processed = Settling._processed

    def all_of_them(
        self: Settling,
        connection: Connection,
        owner: UUID,
        wishes: Sequence[Settlement],
        settled: Settled,
    ) -> set[int]:
        processed(self, connection, owner, wishes, settled)  # type: ignore[arg-type]
        fenced = {item.id for item in settled.fenced}
        return {one.item.id for one in wishes} - fenced

    patch.setattr(Settling, "_processed", all_of_them)


def note_the_cursor_after_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Chunks in one transaction, how far they came in the next."""
    noting = Chunks._note

    def behind(self: Chunks[Any], connection: Connection, rows: Any) -> None:
        connection.commit()
        for _ in range(5):
            crash.point("chunk.before_commit")
        connection.begin()
        noting(self, connection, rows)

    patch.setattr(Chunks, "_note", behind)


def forget_what_was_stopped(patch: pytest.MonkeyPatch) -> None:
    """A run that stops since its lease is in doubt, and that is nobody's when it is renewed."""
    patch.setattr(perform, "returned", lambda call: Fenced(call.item))


MUTANTS_OF_JOBS: list[Plant] = [
    tell_of_what_was_fenced,
    tell_again_after_a_lost_reply,
    follow_after_the_commit,
    count_the_dead_twice,
    keep_the_key,
    share_the_key,
    forget_failed_attempts,
    leave_lost_runs_running,
    tell_plain_successes_twice,
    note_the_cursor_after_the_commit,
    forget_what_was_stopped,
]
