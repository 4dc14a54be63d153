"""One attempt: give the handler what it asks for, call it, and conclude.

With a session the message is settled first, in the handler's own transaction; the row lock keeps
a second runner out, and effects and settlement are one commit. Without one, the answer is
settled later, together with its neighbours' answers.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from todoke import crash
from todoke.database import Database
from todoke.errors import LeaseLost, PermanentError
from todoke.outcome import Done, Outcome
from todoke.work.attempt import Attempt
from todoke.work.call import Answer, Call, Fenced, InOwnTransaction
from todoke.work.conclude import Conclusions, outcome_unknown
from todoke.work.deadline import Deadlines
from todoke.work.inject import Providers
from todoke.work.layers import chain, outside_of_loops, own_loop
from todoke.work.settlement import Dead, HandedBack, Later, Settlement, Then

T = TypeVar("T")

_RERUNS = 5
_AWAY_PAUSE, _NEXT_TRY = 1.0, 0.25


class DatabaseAway(Exception):
    """No connection can be had; the handler was not even called."""


class Performer:
    """Runs calls; the same life for `def` and `async def`."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        async_engine: Callable[[], AsyncEngine],
        database: Database,
        conclusions: Conclusions,
        providers: Providers,
        holds_lease: Callable[[UUID], bool],
    ) -> None:
        self._engine, self._async_engine = engine, async_engine
        self._database, self._conclusions = database, conclusions
        self._providers, self._holds_lease = providers, holds_lease
        # Where one transaction writes at a time, sessions queue up here instead of spinning there.
        self.queues_up: bool = database.one_writer
        self._writing = threading.Lock()
        self._deadlines = Deadlines()
        self._away_until = 0.0

    def perform(self, call: Call) -> Answer:
        """Run a `def` handler, in whatever thread this is."""
        if not self._begin(call):
            return HandedBack(call.item)
        try:
            if call.handler.session_parameter is not None:
                return self._rerun(call, self._in_session)
            return self._without_session(call)
        except LeaseLost:
            return returned(call)
        except DatabaseAway:
            return _when_it_is_back(call)
        except (Exception, SystemExit) as error:
            return self._conclusions.settle_error(call.item, call.handler, error)

    async def perform_async(self, call: Call) -> Answer:
        """Run an `async def` handler on the event loop."""
        if not self._begin(call):
            return HandedBack(call.item)
        slot = asyncio.current_task()
        assert slot is not None  # noqa: S101
        interrupted = False
        self._deadlines.begin(slot, call.handler.timeout)
        call.interrupt = partial(self._interrupt, call, slot)
        try:
            try:
                if call.handler.session_parameter is not None:
                    return await self._rerun_async(call)
                return await self._without_async_session(call)
            finally:
                call.interrupt = None
                interrupted = self._deadlines.end(slot)
        except LeaseLost:
            return returned(call)
        except DatabaseAway:
            return _when_it_is_back(call)
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            cancelled = isinstance(error, asyncio.CancelledError)
            if cancelled and slot.cancelling():  # this slot itself is to end
                raise
            ended = call.cancelled or _too_long(call)
            told = ended if cancelled and interrupted else _told(error, call)
            return self._conclusions.settle_error(call.item, call.handler, told)

    # --- def ---------------------------------------------------------------------------------

    def _without_session(self, call: Call) -> Answer:
        if not self._mark_start(call):
            return HandedBack(call.item)
        outcome, then = self._call(call, {})
        return self._conclusions.settle(call.item, call.handler, outcome, then)

    def _in_session(self, call: Call) -> Answer:
        with (
            self._turn(call),
            self._connect() as connection,
            connection.begin() as transaction,
            _marked(call, self._database.session_mark(connection)),
        ):
            if not call.settling.settle_first(connection, call.owner, call.item):
                return self._already(connection, call)
            crash.point("handler.after_guard")
            with Session(connection, join_transaction_mode="rollback_only") as session:
                outcome, then = self._call(call, {_session_name(call): session})
                if not isinstance(outcome, Done) or call.given_up:
                    transaction.rollback()
                    return self._conclusions.settle(call.item, call.handler, outcome, then)
                _still_open(transaction.is_active, call)
                _finish(session, then)
                _settled_first(connection, call, outcome)
                crash.point("handler.before_commit")
                transaction.commit()
        crash.point("handler.after_commit")
        return InOwnTransaction(call.item)

    def _call(self, call: Call, own: dict[str, Any]) -> tuple[Outcome, Then | None]:
        if call.handler.middleware or call.needs_attempt_scope:
            return own_loop(self._wrapped(call, own))
        answer = call.handler.function(call.event, **call.values, **own)
        crash.point("handler.after_call")
        outcome, events = self._conclusions.outcome_of(answer)
        return outcome, self._conclusions.then(outcome, events, call.handler, call.item)

    def _rerun(self, call: Call, run: Callable[[Call], T]) -> T:
        """A deadlock or a lost connection is nobody's fault: again, at no attempt's cost."""
        for _ in range(_RERUNS):
            try:
                return run(call)
            except Exception as error:
                if call.given_up or not self._worth_another(error):
                    raise
        return run(call)

    # --- async def ---------------------------------------------------------------------------

    async def _without_async_session(self, call: Call) -> Answer:
        if call.handler.asks and not await asyncio.to_thread(self._mark_start, call):
            return HandedBack(call.item)
        outcome, then = await self._call_async(call, {})
        return self._conclusions.settle(call.item, call.handler, outcome, then)

    async def _in_async_session(self, call: Call) -> Answer:
        async with AsyncExitStack() as stack:
            connection = await self._connect_async(stack)
            transaction = await stack.enter_async_context(connection.begin())
            mark = await connection.run_sync(self._database.session_mark)
            stack.enter_context(_marked(call, mark))
            if not await self._settle_first(connection, call):
                return await connection.run_sync(self._already, call)
            crash.point("handler.after_guard")
            async with AsyncSession(connection, join_transaction_mode="rollback_only") as session:
                outcome, then = await self._call_async(call, {_session_name(call): session})
                if not isinstance(outcome, Done) or call.given_up:
                    await transaction.rollback()
                    return self._conclusions.settle(call.item, call.handler, outcome, then)
                _still_open(transaction.is_active, call)
                await session.run_sync(_finish, then)
                await connection.run_sync(_settled_first, call, outcome)
                crash.point("handler.before_commit")
                await transaction.commit()
        crash.point("handler.after_commit")
        return InOwnTransaction(call.item)

    async def _settle_first(self, connection: AsyncConnection, call: Call) -> bool:
        def settle(plain: Connection) -> bool:
            return call.settling.settle_first(plain, call.owner, call.item)

        return await connection.run_sync(settle)

    async def _call_async(self, call: Call, own: dict[str, Any]) -> tuple[Outcome, Then | None]:
        if call.handler.middleware or call.needs_attempt_scope:
            return await self._wrapped(call, own)
        answer = await call.handler.function(call.event, **call.values, **own)
        crash.point("handler.after_call")
        outcome, events = self._conclusions.outcome_of(answer)
        return outcome, self._conclusions.then(outcome, events, call.handler, call.item)

    async def _rerun_async(self, call: Call) -> Answer:
        for _ in range(_RERUNS):
            try:
                return await self._in_async_session(call)
            except Exception as error:
                if call.given_up or not self._worth_another(error):
                    raise
        return await self._in_async_session(call)

    # --- both --------------------------------------------------------------------------------

    async def _wrapped(self, call: Call, own: dict[str, Any]) -> tuple[Outcome, Then | None]:
        """The call inside its middleware, with values made for this attempt only."""
        kept: list[Then | None] = [None]

        async def innermost(attempt: Attempt) -> Outcome:
            values = {**call.values, **scoped, **own}
            if call.handler.is_async:
                answer = await call.handler.function(call.event, **values)
            else:
                with outside_of_loops():
                    answer = call.handler.function(call.event, **values)
            crash.point("handler.after_call")
            outcome, events = self._conclusions.outcome_of(answer)
            kept[0] = self._conclusions.then(outcome, events, call.handler, call.item)
            return outcome

        async with AsyncExitStack() as stack:
            injected = [one for one in call.handler.parameters if one.name not in own]
            missing = [one for one in injected if one.name not in call.values]
            scoped = await self._providers.attempt_values(stack, missing, call.handler.context)
            outcome = await chain(call.handler.middleware, innermost)(call.attempt)
        return outcome, kept[0]

    def _begin(self, call: Call) -> bool:
        """False when it must not begin any more: its destination rests, or it is not ours."""
        crash.point("handler.before_start")
        if (call.withheld is not None and call.withheld()) or not self._holds_lease(call.owner):
            return False
        call.started = self._database.clock.monotonic()
        return True

    def _interrupt(self, call: Call, slot: asyncio.Task[Any]) -> None:
        """From any thread; the slot may have gone on to another call meanwhile."""

        def interrupt() -> None:
            if call.interrupt is not None:
                self._deadlines.interrupt(slot)

        slot.get_loop().call_soon_threadsafe(interrupt)

    @contextmanager
    def _turn(self, call: Call) -> Iterator[None]:
        if not self.queues_up:
            yield
            return
        self._writing.acquire()
        call.turn = deque([self._writing])
        call.started = self._database.clock.monotonic()
        try:
            yield
        finally:
            call.pass_turn()

    def _mark_start(self, call: Call) -> bool:
        """Where a person will be asked; False when lease or time ran out while it was written."""
        if not call.handler.asks:
            return True
        if not self._rerun(call, self._write_start):
            raise LeaseLost(call.handler.where, call.item.attempt)
        crash.point("handler.after_started_mark")
        return self._holds_lease(call.owner) and not call.given_up

    def _write_start(self, call: Call) -> bool:
        with self._connect() as connection, connection.begin():
            return call.settling.start(connection, call.owner, call.item)

    def _connect(self) -> Connection:
        with self._unless_away():
            return self._engine().connect()

    async def _connect_async(self, stack: AsyncExitStack) -> AsyncConnection:
        with self._unless_away():
            return await stack.enter_async_context(self._async_engine().connect())

    @contextmanager
    def _unless_away(self) -> Iterator[None]:
        """What one call has just found out, the hundreds behind it need not try."""
        if self._database.clock.monotonic() < self._away_until:
            raise DatabaseAway
        try:
            yield
        except DBAPIError as error:
            self._away_until = self._database.clock.monotonic() + _NEXT_TRY
            raise DatabaseAway from error

    def _worth_another(self, error: BaseException) -> bool:
        return self._database.passes(error) or self._database.is_lost(error)

    @staticmethod
    def _already(connection: Connection, call: Call) -> Answer:
        """Nothing to settle: a rerun whose first commit had arrived, or another attempt's."""
        if call.settling.was_settled(connection, call.owner, call.item):
            return InOwnTransaction(call.item)
        return Fenced(call.item)


def returned(call: Call) -> Settlement:
    """Free for another, unless it had begun what a person wants to be asked about.

    Also where the lease was lost: perhaps it is only in doubt and will be renewed, and what is
    nobody's answer would then be this process's for ever. If another attempt has it, nothing is
    written.
    """
    if call.handler.asks and call.started is not None:
        return Dead(call.item, outcome_unknown(call.item), final=True)
    return HandedBack(call.item)


def _session_name(call: Call) -> str:
    assert call.handler.session_parameter is not None  # noqa: S101
    return call.handler.session_parameter


def _finish(session: Session, then: Then | None) -> None:
    """Write what is left to write; the worker's transaction commits it."""
    connection = session.connection()
    session.commit()
    if then is not None:
        then(connection)


def _settled_first(connection: Connection, call: Call, outcome: Done) -> None:
    call.settling.settled_first(connection, call.owner, call.item, outcome.result)


def _still_open(is_active: bool, call: Call) -> None:
    if not is_active:
        raise PermanentError(
            f"{call.handler.where} rolled back its injected session and answered Done. Raise an "
            "error or return Retry, Skip or Reject instead: they roll back too.",
            code="SESSION_ROLLED_BACK",
        )


@contextmanager
def _marked(call: Call, mark: Any) -> Iterator[None]:
    # Forgotten before the connection goes back to the pool: the next one there is innocent.
    call.session_mark = mark
    try:
        yield
    finally:
        call.session_mark = None


def _when_it_is_back(call: Call) -> Settlement:
    return Later(call.item, _AWAY_PAUSE, spared=True, of=call.handler.retry.attempts)


def _told(error: BaseException, call: Call) -> BaseException:
    return _too_long(call) if isinstance(error, TimeoutError) and not str(error) else error


def _too_long(call: Call) -> TimeoutError:
    return TimeoutError(f"{call.handler.where} took longer than {call.handler.timeout:g} s.")
