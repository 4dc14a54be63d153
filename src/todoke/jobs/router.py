"""Where a claimed job goes: to its function, or it is put off until somebody knows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from todoke.identity import Identities
from todoke.jobs.handler import JobHandler
from todoke.jobs.in_hand import RunsInHand
from todoke.jobs.row import Spec
from todoke.jobs.run import Run, Tick
from todoke.jobs.ties import Ties, ties_of
from todoke.work.attempt import Attempt
from todoke.work.call import Call
from todoke.work.desk import LOOK_AGAIN, Desk, Own, invalid_body, may_wait, message_of
from todoke.work.item import Item
from todoke.work.settlement import Dead, Held, Later, Processed, Settlement

_LONGEST_LOOK = 60.0

OF_JOBS: Own = {
    Run: lambda call: call.attempt,
    Attempt: lambda call: call.attempt,
}
"""What a job may ask for that belongs to its call."""

Chunking = Callable[..., Any]


class JobRouter:
    """Gives each job to its function."""

    def __init__(
        self,
        handlers: Mapping[str, JobHandler],
        desk: Desk,
        in_hand: RunsInHand,
        identities: Identities,
        chunking: Callable[[Call], Chunking],
        is_paused: Callable[[str], bool],
        spec_of: Callable[[Any], Spec],
        grace: float,
    ) -> None:
        self._handlers, self._desk, self._in_hand = handlers, desk, in_hand
        self._identities, self._chunking, self._is_paused = identities, chunking, is_paused
        self._spec_of, self._grace = spec_of, grace

    def prepare(self, item: Item, owner: UUID) -> Call | Settlement:
        handler = self._handlers.get(item.handler or "")
        if handler is None:
            return Later(item, _patience(item), spared=True)
        if self._is_paused(handler.name):
            return Held(item)
        if not handler.enabled:
            note = f"jobs.enabled.{handler.name} is off"
            return Processed(item, note=note, handled=False, ends_well=False)
        try:
            argument = None if handler.argument is None else handler.argument.load(item.body)
        except ValidationError as error:
            # Perhaps of another release, whose workers are about to come or to go.
            if may_wait(item, self._grace):
                return Later(item, LOOK_AGAIN, spared=True)
            return Dead(item, invalid_body(item, error), final=True)
        return self._call(item, handler, argument, owner)

    def _call(
        self, item: Item, handler: JobHandler, argument: Any, owner: UUID
    ) -> Call | Settlement:
        ties = ties_of(item.headers)
        call = self._desk.ready(item, handler, argument, owner, partial(self._run, ties))
        if isinstance(call, Call):
            self._in_hand.take(call, ties)
        return call

    def _run(self, ties: Ties, call: Call) -> Run:
        item, handler = call.item, call.handler
        return Run(
            number=item.number,
            of=handler.retry.attempts,
            name=handler.name,
            message=message_of(item, call.event),
            deadline=item.claimed_at + timedelta(seconds=handler.timeout),
            _check=partial(self._desk.check, call),
            id=self._identities.draw(),
            tick=_tick(ties, item),
            _chunks=self._chunking(call),
            _follower=self._spec_of if handler.session_parameter is None else None,
        )


def _tick(ties: Ties, item: Item) -> Tick | None:
    if ties.tick is None:
        return None
    return Tick(ties.tick, max(timedelta(), item.claimed_at - ties.tick), ties.missed)


def _patience(item: Item) -> float:
    """Never given up: a release that knows it may come at any time. Looked at ever more rarely."""
    return min(_LONGEST_LOOK, LOOK_AGAIN * 2.0 ** min(item.spared, 8))
