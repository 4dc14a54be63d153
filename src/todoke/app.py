"""The application: wires the rooms together; nothing connects before it must."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import cached_property
from pathlib import Path
from random import Random, SystemRandom
from typing import Any
from uuid import UUID

from sqlalchemy import URL, Connection, Engine, MetaData, Row, Table
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from todoke import crash
from todoke.bell import Bell
from todoke.clock import Clock, SystemClock
from todoke.context import Context
from todoke.database import Database
from todoke.databases.address import address_of, is_djangos, settings_of
from todoke.databases.bells import bell_for
from todoke.databases.engines import Address, Engines
from todoke.databases.extras import named_extra
from todoke.dead_letters.bury import Burial
from todoke.dead_letters.redrive import DeadLetters
from todoke.doctor.examine import LONG_TRANSACTION, examine
from todoke.duration import Duration, seconds
from todoke.elsewhere import Elsewhere
from todoke.errors import InvalidOption
from todoke.finding import Finding
from todoke.handlers import Handlers
from todoke.handles.kinds import RawConnection
from todoke.identity import Identities
from todoke.job_handlers import job_handlers
from todoke.jobs.act import Jobs
from todoke.jobs.enqueue import Enqueuing
from todoke.jobs.result import Resulting
from todoke.jobs.room import JobRoom
from todoke.jobs.schedules import Schedules
from todoke.ledger.ledger import Ledger
from todoke.lifespan import publishing, working
from todoke.message import Event
from todoke.metrics import Metrics
from todoke.movable import Movable
from todoke.names.check import check
from todoke.names.file import NAMES_FILE
from todoke.outbox.publish import Outbox
from todoke.outbox.publishing import Publishing
from todoke.outbox.read import Events
from todoke.outbox.ring import ring_after_commit
from todoke.retention.archive import Archive
from todoke.rooms import build_rooms
from todoke.runtime import Runtime
from todoke.settings import Settings
from todoke.telemetry import Tally
from todoke.work.claim import Claims
from todoke.work.destination import Destinations
from todoke.work.inject import Provider, Providers
from todoke.work.item import Item
from todoke.work.lanes import LaneLeases
from todoke.work.settle import Settling
from todoke.work.slots import EventLoop
from todoke.work.table import WorkTable


class Todoke(Movable, Resulting, Context):
    """Database, contexts, handlers: what `todoke worker` runs. Is itself a Context."""

    database: Database
    engines: Engines
    metadata: MetaData
    identities: Identities
    outbox_table: WorkTable
    inbox_table: WorkTable
    worker_table: Table
    tally: Tally
    job_room: JobRoom
    jobs_table: WorkTable
    letter_table: Table
    ledger: Ledger
    burial: Burial
    hold_table: Table
    claims: list[Claims]
    settlings: list[Settling]
    lane_table: Table
    lane_leases: LaneLeases
    destinations: Destinations
    freed_with_a_process: tuple[Callable[[Connection, UUID], object], ...]
    dead_letters: DeadLetters
    archive: Archive
    events: Events
    metrics: Metrics
    outbox: Outbox
    publishing: Publishing
    enqueuing: Enqueuing
    jobs: Jobs
    schedules: Schedules
    event_loop: EventLoop
    providers: Providers

    def __init__(
        self,
        database: str | Engine | RawConnection | None = None,
        *,
        name: str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        session: Callable[[], Session] | None = None,
    ) -> None:
        self.settings: Settings = settings_of(database, settings, name)
        super().__init__(self.settings.text("name"))
        self._app = self
        self.clock: Clock = clock or SystemClock()
        self.random: Random = random or SystemRandom()
        self.given_engine: Engine | None = database if isinstance(database, Engine) else None
        self.address: Address = address_of(database, self.settings)
        self.is_djangos: bool = is_djangos(database)
        self.make_session = session
        self.contexts: list[Context] = [self]
        self._handlers: tuple[int, Handlers] | None = None
        self.surroundings: dict[str, Callable[[Any], Any]] = {}
        self.places: dict[object, Elsewhere] = {}
        build_rooms(self)

    def settle_in(self) -> None:
        """Forget what was built of handlers and values: this is another place."""
        self._handlers, self.providers = None, self.fresh_providers()

    # --- contexts ----------------------------------------------------------------------------

    def include(self, *contexts: Context) -> None:
        """Make contexts part of this application; their modules are imported now."""
        for context in contexts:
            if not isinstance(context, Context):
                raise InvalidOption(
                    "include", context, 'pass the context itself: Context("ordering").'
                )
            if any(known.name == context.name for known in self.contexts):
                raise InvalidOption(
                    "include",
                    context.name,
                    "a context of this name is in already. Give it another.",
                )
            self.contexts.append(context)
            context.join(self)

    def surround(self, name: str, decorate: Callable[[Any], Any]) -> None:
        """Decorate every handler with what a web framework wants around an attempt.

        Under a name, so that a second web application replaces the first. `decorate` gives a `def`
        for a `def` and an `async def` for an `async def`.
        """
        self.surroundings[name] = decorate
        self._handlers = None

    def fresh_providers(self) -> Providers:
        """Providers without any value yet."""
        known = {Settings: self.settings, Todoke: self}
        return Providers(known, self._declared, self.event_loop)

    @property
    def context_names(self) -> set[str]:
        """Contexts that are included, and those that handlers here take events of."""
        wishes = [wish for context in self.contexts for wish in context.wishes]
        taken = {event.declared.context for wish in wishes for event in wish.events}
        return {context.name for context in self.contexts} | {one for one in taken if one}

    def _declared(self) -> list[Provider]:
        return [one for context in self.contexts for one in context.provided]

    def _provider_context(self) -> str | None:
        return None

    # --- database ----------------------------------------------------------------------------

    def slots(self) -> int:
        """How many handlers may run at once, each with a connection."""
        return max(self.settings.number("worker.threads"), sum(self.settings.queues.values()))

    @property
    def url(self) -> URL:
        """Where the database is."""
        return self.address()

    @property
    def engine(self) -> Engine:
        """The engine; made when first needed."""
        return self.engines.main

    @property
    def agents_engine(self) -> Engine:
        """Connections for the worker's agents, so that handlers can never use up the last one."""
        return self.engines.agents

    @property
    def async_engine(self) -> AsyncEngine:
        """The same database for async code."""
        return self.engines.asynchronous

    @cached_property
    def bell(self) -> Bell:
        """What tells workers of a commit; made when first rung."""
        gap = self.settings.seconds("outbox.wake_gap")
        with named_extra():
            return bell_for(self.database, self.url, gap=gap)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A SQLAlchemy Session; commits at the end, rolls back on an exception."""
        fresh = self.make_session() if self.make_session else Session(self.engine)
        with fresh as session, session.begin():
            yield session

    @asynccontextmanager
    async def async_session(self) -> AsyncIterator[AsyncSession]:
        """The same for async code."""
        async with AsyncSession(self.async_engine) as session, session.begin():
            yield session

    def migrate(self, *, to: str = "head") -> None:
        """Create or upgrade todoke's tables; safe to repeat."""
        from todoke.databases.upgrade import migrate  # noqa: PLC0415

        migrate(self.engine, self.database, to)

    def migration_sql(self) -> str:
        """What `migrate` would run."""
        from todoke.databases.upgrade import migration_sql  # noqa: PLC0415

        return migration_sql(self.database, self.url.render_as_string(hide_password=True))

    def doctor(self, *, long_transaction: Duration = LONG_TRANSACTION) -> list[Finding]:
        """Look at the database and at what the settings ask of it; changes nothing.

        Transactions that are open for longer than `long_transaction` are told, with their session.
        """
        return examine(self, seconds(long_transaction, "long_transaction"))

    def check(self, names: Path | str = NAMES_FILE) -> list[Finding]:
        """What a worker would refuse to start with, and which names are not as recorded.

        Asks no database. `todoke check` is the same for the command line.
        """
        return check(self, Path(names))

    # --- running -----------------------------------------------------------------------------

    @property
    def handlers(self) -> Handlers:
        """All handlers, checked: unknown dependencies and double names stop here."""
        known = sum(one.declarations for one in self.contexts)
        if self._handlers is None or self._handlers[0] != known:
            self._handlers = (known, Handlers.of(self, job_handlers(self)))
        return self._handlers[1]

    def drain(self) -> None:
        """Work, in this thread, until nothing is due."""
        Runtime(self).drain()

    async def adrain(self) -> None:
        """The same from async code, in another thread."""
        await asyncio.to_thread(self.drain)

    def run(self) -> bool:
        """Be a worker until SIGTERM; True when the process asks to be replaced."""
        crash.arm_from_environment()
        return Runtime(self).run()

    def lifespan(self, web: object = None) -> AbstractAsyncContextManager[None]:
        """For `FastAPI(lifespan=app.lifespan)`: publish here, and let workers run elsewhere.

        Handlers and tables are checked at the start; at the end everything is let go.
        """
        return publishing(self)

    def embedded(self, web: object = None) -> AbstractAsyncContextManager[None]:
        """The same with a worker inside the web process, for small set-ups."""
        return working(self)

    def close(self) -> None:
        """Let go of connections and threads; they come back when needed again."""
        if (bell := self.__dict__.pop("bell", None)) is not None:
            bell.close()
        self.job_room.children.close()
        self.providers.close()
        for engine in self.engines.let_go():
            self.providers.run(engine.dispose())
        self.event_loop.close()

    def ring(self, connection: Connection, hints: Collection[str]) -> None:
        """Tell workers, once the connection's transaction is committed, where to look."""
        ring_after_commit(self.bell, connection, hints)

    def event_class(self, context: str, type: str) -> type[Event] | None:
        """The declared class of an event type, as far as a handler here knows it."""
        known = self.handlers.event_classes
        return known.get(f"{context}/{type}") or known.get(f"*/{type}")

    def name_for(self, item: Item) -> str:
        """Whom a message is for."""
        return self.handlers.name_for(item)

    def check_body(self, letter: Row[Any], body: str) -> None:
        """Refuse a corrected body that cannot be read."""
        if letter.source == self.jobs_table.source:
            job = self.handlers.jobs.get(letter.handler)
            if job is not None and job.argument is not None:
                job.argument.load(body)
        elif (kind := self.event_class(letter.context, letter.type)) is not None:
            kind.model_validate_json(body)
