"""Why a job is not running: everything that it waits for, the most important first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from pydantic import ValidationError

from todoke.finding import lasting
from todoke.jobs.handler import JobHandler
from todoke.jobs.pauses import Handlers, PauseRecord
from todoke.jobs.records import CANCELLED, DEAD, PENDING, PROCESSING
from todoke.jobs.surroundings import MOST_COUNTED, Holder, LivingWorker, Running, Situation
from todoke.jobs.whereabouts import Found
from todoke.limits import Bounds, Limit, Rate
from todoke.message import told
from todoke.telemetry import masked
from todoke.work.destination_table import State
from todoke.work.item import HELD, LATER, READY, SUSPECT
from todoke.work.strand import context_of, destination_of, queue_of

_SAME_DAY = timedelta(hours=18)
_NAMED = 3
"""So many workers are named; of more it is told how many."""


class Reasons:
    """Tells what jobs wait for."""

    def __init__(
        self, handlers: Handlers, around: Callable[[str], Bounds | None], poll: float
    ) -> None:
        """`around` tells what binds all jobs of a queue."""
        self._handlers, self._around, self._poll = handlers, around, poll

    def all(self, found: Found, situation: Situation) -> list[str]:
        """How it stands with any job; never empty."""
        if found.status == PROCESSING:
            return list(_running(found, situation))
        if found.status != PENDING:
            return [_ended(found, situation.now)]
        reasons = [
            *_asked_to_end(found, situation),
            *self._obstacles(found, situation),
            *_queue(found, situation),
        ]
        return reasons or [
            f"It is next: a worker should take it within {lasting(max(1.0, self._poll))}."
        ]

    def first(self, found: Found, situation: Situation) -> str | None:
        """The most important, for a list: what stands before it is not counted."""
        if found.status != PENDING:
            return None
        return next(self._obstacles(found, situation), None)

    def _obstacles(self, found: Found, situation: Situation) -> Iterator[str]:
        handler = self._handlers().get(found.job)
        yield from _pauses(found, handler, situation)
        yield from _workers(found, situation)
        yield from _unfit(found, handler)
        yield from _time(found, situation.now)
        if found.state == SUSPECT:
            yield (
                "It was in a worker's hands when that died: it runs alone, as soon as a worker of "
                "its queue has nothing else to do."
            )
        yield from _destination(found, handler, situation)
        yield from self._queue_bounds(queue_of(found.stream), situation)
        yield from _turn(found, handler, situation)
        if found.state in (READY, SUSPECT):
            yield from _places(found, situation)

    def _queue_bounds(self, queue: str, situation: Situation) -> Iterator[str]:
        bounds = self._around(queue)
        if bounds is None:
            return
        told, name = f"Queue {queue}", bounds.destination
        if bounds.limit is not None:
            runs = [one for one in situation.running if queue_of(one.stream) == queue]
            yield from _limit(told, bounds.limit, situation.slot_holders(name), runs, situation)
        if bounds.rate is not None and (state := situation.destination(name)) is not None:
            yield from _rate(f"{told} may begin", bounds.rate, state)


# --- one reason each -------------------------------------------------------------------------


def _asked_to_end(found: Found, situation: Situation) -> Iterator[str]:
    asked = situation.cancellation(found.id)
    if asked is not None:
        when = at(asked.asked_at, situation.now)
        yield f"{asked.by} asked at {when} to cancel it, which ends it: {_words(asked.reason)}"


def _pauses(found: Found, handler: JobHandler | None, situation: Situation) -> Iterator[str]:
    job = found.job if handler is None else handler.name
    for pause in (situation.paused.queue(found.stream), situation.paused.job(job)):
        if pause is not None:
            yield _paused(pause, situation.now)


def _paused(pause: PauseRecord, now: datetime) -> str:
    return (
        f"{pause.kind.capitalize()} {pause.name} is paused by {pause.by} since "
        f"{at(pause.since, now)}: {_words(pause.reason)}"
    )


def _workers(found: Found, situation: Situation) -> Iterator[str]:
    queue, serving = queue_of(found.stream), situation.serving(found.stream)
    if not situation.workers:
        yield "No worker is running. Start `todoke worker`."
    elif not serving:
        yield (
            f"No living worker serves queue {queue} of context {context_of(found.stream)}. "
            f"Start one: `todoke worker --queues {queue}=4`."
        )
    elif not any(one.knows(found.job) for one in serving):
        yield (
            f"No living worker that serves queue {queue} knows the job {found.job}: "
            f"{_named(serving)} {'does' if len(serving) == 1 else 'do'} not. Deploy a release "
            "that has it."
        )


def _unfit(found: Found, handler: JobHandler | None) -> Iterator[str]:
    if handler is None:
        return
    if not handler.enabled:
        yield f"jobs.enabled.{handler.name} is off here: a worker will record it as SKIPPED."
    try:
        if handler.argument is not None:
            handler.argument.load(found.body)
    except ValidationError as error:
        yield f"Its argument cannot be read by this release: {masked(told(error))}."


def _time(found: Found, now: datetime) -> Iterator[str]:
    if found.state != LATER or found.scheduled_at is None:
        return
    wait = (found.scheduled_at - now).total_seconds()
    due = f"{at(found.scheduled_at, now)}, in {lasting(wait)}"
    if wait <= 0:
        yield f"It has been due for {lasting(-wait)}, and no worker has noticed yet."
    elif found.attempts and found.error_code:
        of = f" of {found.max_attempts}" if found.max_attempts else ""
        yield (
            f"Attempt {found.attempts}{of} failed with {found.error_code}; the next is due at "
            f"{due}."
        )
    else:
        yield f"It is to run later: at {due}."


def _destination(found: Found, handler: JobHandler | None, situation: Situation) -> Iterator[str]:
    name = destination_of(found.stream)
    bounds = None if handler is None else handler.bounds
    state = situation.destination(name) if name else None
    if state is not None and state.open_until is not None:
        yield _rests(name, state)
    if bounds is not None and bounds.limit is not None:
        runs = [one for one in situation.running if destination_of(one.stream) == name]
        yield from _limit(name, bounds.limit, situation.slot_holders(name), runs, situation)
    if bounds is not None and bounds.rate is not None and state is not None:
        yield from _rate(f"{name} may be called", bounds.rate, state)


def _limit(
    name: str,
    limit: Limit,
    holders: Sequence[Holder],
    runs: Sequence[Running],
    situation: Situation,
) -> Iterator[str]:
    if sum(one.slots for one in holders) >= limit.at_once:
        full = f"{name} is full, at most {limit.at_once:,} at once"
        yield f"{full}: {_held(holders, runs, situation.now)}."


def _rate(may: str, rate: Rate, state: State) -> Iterator[str]:
    wait = _until_token(rate, state)
    if wait > 0:
        often = f"{rate.count:,} per {lasting(rate.within.total_seconds())}"
        when = at(state.now + timedelta(seconds=wait), state.now)
        yield f"{may} {often}: the next time at {when}, in {lasting(wait)}."


def _rests(name: str, state: State) -> str:
    assert state.open_until is not None  # noqa: S101
    if state.open_until <= state.now:
        return f"{name} failed too often in a row: one call tries it, then the others go on."
    return (
        f"{name} failed too often in a row: nothing is called there until "
        f"{at(state.open_until, state.now)}, for another "
        f"{lasting((state.open_until - state.now).total_seconds())}."
    )


def _until_token(rate: Rate, state: State) -> float:
    """Seconds until the bucket holds a whole token; as `Destination` counts."""
    within = rate.within.total_seconds()
    if state.tokens is None or state.refilled_at is None:
        return 0.0
    passed = (state.now - state.refilled_at).total_seconds()
    if passed < -within:
        return 0.0
    tokens = state.tokens + max(0.0, passed) * rate.count / within
    return max(0.0, (1 - tokens) * within / rate.count)


def _turn(found: Found, handler: JobHandler | None, situation: Situation) -> Iterator[str]:
    if found.strand:
        yield from _key(found, found.strand, handler, situation)
    elif found.state == HELD and not any(_pauses(found, handler, situation)):
        yield "It was held while its job was paused, and is readied within a minute."


def _key(
    found: Found, strand: int, handler: JobHandler | None, situation: Situation
) -> Iterator[str]:
    bounds = None if handler is None else handler.bounds
    limit = None if bounds is None or bounds.per_key is None else bounds.per_key.at_once
    holders = situation.key_holders(strand)
    is_full = limit is not None and sum(one.slots for one in holders) >= limit
    if is_full or (found.state == HELD and holders):
        most = "" if limit is None else f", at most {limit:,} at once"
        runs = [one for one in situation.running if one.strand == strand]
        yield f"Its key is full{most}: {_held(holders, runs, situation.now)}."
    elif found.state == HELD:
        yield "It waited for a slot of its key, which is free again: it is readied within a minute."


def _places(found: Found, situation: Situation) -> Iterator[str]:
    """All that its queue can do at once, in all workers, is being done."""
    queue = queue_of(found.stream)
    able = [one for one in situation.serving(found.stream) if one.knows(found.job)]
    places = sum(one.service.queues.get(queue, 0) for one in able)
    running = situation.running_in(queue)
    if able and len(running) >= places:
        yield (
            f"All {places:,} places of queue {queue} are taken, in "
            f"{_named(able)}; {_longest(running, situation.now)}."
        )


def _queue(found: Found, situation: Situation) -> Iterator[str]:
    if found.state != READY:
        return
    before = situation.before(found)
    if before:
        count = f"More than {MOST_COUNTED:,}" if before > MOST_COUNTED else f"{before:,}"
        are = "job of its queue comes" if before == 1 else "jobs of its queue come"
        yield f"{count} {are} before it, being more urgent or earlier."


# --- those that do not wait ------------------------------------------------------------------


def _running(found: Found, situation: Situation) -> Iterator[str]:
    assert found.owner is not None  # noqa: S101
    now, name = situation.now, situation.worker_names.get(found.owner)
    since = found.claimed_at or now
    told = f"attempt {found.attempts}, since {at(since, now)}, for {_ago(since, now)}"
    yield f"It runs on worker {name or found.owner}: {told}."
    yield from _asked_to_end(found, situation)
    if found.owner not in {one.id for one in situation.workers}:
        yield "That worker's lease has run out, or it stops: what it leaves, another takes over."


def _ended(found: Found, now: datetime) -> str:
    when = "" if found.settled_at is None else f" at {at(found.settled_at, now)}"
    if found.status == DEAD:
        error = f"{found.error_code}: {found.error_message}"
        closed = f" It was {found.closed_as}." if found.closed_as else ""
        shows = f"`todoke dead-letters show {found.letter}`"
        return f"It was given up{when}: {_words(error)}{closed} {shows}"
    if found.status == CANCELLED:
        _, _, note = (found.note or "").partition(": ")
        return f"It was cancelled{when}: {_words(note)}"
    return f"It was processed{when}" + (f": {_words(found.note)}" if found.note else ".")


# --- words -----------------------------------------------------------------------------------


def at(moment: datetime, now: datetime) -> str:
    """A moment, with its day where that is another."""
    near = abs(moment - now) < _SAME_DAY
    return f"{moment:%H:%M:%S} UTC" if near else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _ago(moment: datetime, now: datetime) -> str:
    return lasting(max(0.0, (now - moment).total_seconds()))


def _words(text: str) -> str:
    """A person's words as a sentence."""
    said = masked(text).strip()
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _held(holders: Sequence[Holder], running: Sequence[Running], now: datetime) -> str:
    told = [f"worker {one.name} holds {one.slots:,}" for one in holders[:_NAMED]]
    if len(holders) > _NAMED:
        told.append(f"{len(holders) - _NAMED:,} other workers hold the rest")
    longest = f"; {_longest(running, now)}" if running else ""
    return f"{', '.join(told)}{longest}"


def _longest(running: Sequence[Running], now: datetime) -> str:
    first = running[0]
    since = "" if first.started_at is None else f" for {_ago(first.started_at, now)}"
    return f"{first.job} {first.id} has been running{since}"


def _named(workers: Iterable[LivingWorker]) -> str:
    names = sorted(one.name for one in workers)
    if len(names) > _NAMED:
        return f"{len(names):,} workers"
    return f"worker {names[0]}" if len(names) == 1 else f"workers {', '.join(names)}"
