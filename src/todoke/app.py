"""The application: wires the rooms together; nothing connects before it must."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
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
from todoke.bell import Bell, NullBell
from todoke.clock import Clock, SystemClock
from todoke.context import Context
from todoke.database import Database
from todoke.databases import open_database
from todoke.databases.address import address_of, is_djangos, settings_of
from todoke.databases.bells import bell_for
from todoke.databases.engines import Engines
from todoke.databases.extras import named_extra
from todoke.dead_letters.bury import Burial
from todoke.dead_letters.followers import Followers
from todoke.dead_letters.redrive import DeadLetters
from todoke.dead_letters.table import dead_letter_tables
from todoke.doctor.examine import LONG_TRANSACTION, examine
from todoke.duration import Duration, seconds
from todoke.elsewhere import Elsewhere, bound
from todoke.errors import InvalidOption
from todoke.finding import Finding
from todoke.handlers import Fate, Handlers
from todoke.handles.kinds import RawConnection
from todoke.identity import Identities
from todoke.ledger.ledger import Ledger
from todoke.lifespan import publishing, working
from todoke.message import Event
from todoke.metrics import Metrics
from todoke.names.check import check
from todoke.names.file import NAMES_FILE
from todoke.outbox.publish import Outbox
from todoke.outbox.publishing import Publishing
from todoke.outbox.read import Events
from todoke.outbox.ring import ring_after_commit
from todoke.retention.archive import Archive
from todoke.retention.period import retention_of
from todoke.runtime import Runtime
from todoke.settings import Settings
from todoke.work.claim import Claims
from todoke.work.destination import Destinations
from todoke.work.destination_table import destination_tables
from todoke.work.hold import Holds
from todoke.work.inject import Provider, Providers
from todoke.work.item import Item
from todoke.work.lanes import LaneLeases
from todoke.work.settle import Settling
from todoke.work.slots import EventLoop
from todoke.work.table import WorkTable, hold_table, lane_table, work_table, worker_table


class Todoke(Context):
    """Database, contexts, handlers: what `todoke worker` runs. Is itself a Context."""

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
        self._given_engine = database if isinstance(database, Engine) else None
        self._address = address_of(database, self.settings)
        self.is_djangos: bool = is_djangos(database)
        self._make_session = session
        self.contexts: list[Context] = [self]
        self._handlers: tuple[int, Handlers] | None = None
        self.surroundings: dict[str, Callable[[Any], Any]] = {}
        self.places: dict[object, Elsewhere] = {}
        self._build_rooms()

    def _build_rooms(self) -> None:
        settings = self.settings
        self.database: Database = open_database(
            self.url,
            self.clock,
            schema=settings.text("database.schema"),
            prefix=settings.text("database.prefix"),
        )
        database = self.database
        database.prepares = settings.flag("database.prepare")
        self.engines: Engines = Engines(
            self.database, self._address, self._given_engine, self._slots
        )
        self.metadata: MetaData = MetaData()
        self.database.declare(self.metadata)
        self.identities: Identities = Identities(self.clock, self.random.getrandbits)
        self.outbox_table: WorkTable = work_table("event", "outbox", self.metadata, self.database)
        self.inbox_table: WorkTable = work_table("delivery", "inbox", self.metadata, self.database)
        self.worker_table: Table = worker_table(self.metadata, self.database)
        letters = dead_letter_tables(self.metadata, self.database)
        self.letter_table: Table = letters.letters
        self.ledger: Ledger = Ledger(
            self.metadata,
            self.letter_table,
            self.database,
            settings,
            lambda: self.engine,
            self.identities.draw,
        )
        self.burial: Burial = Burial(
            letters, self.database, self.identities, self._name_for, self.ledger.settlements.fail
        )
        tables = [self.outbox_table, self.inbox_table]
        self.hold_table: Table = hold_table(self.metadata, self.database)
        holds = {
            table.source: Holds(table, self.hold_table, letters.letters, self.database)
            for table in tables
        }
        self.claims: list[Claims] = [
            Claims(table, self.worker_table, self.database) for table in tables
        ]
        self.settlings: list[Settling] = [
            Settling(
                table, self.database, self.burial, holds[table.source], Fate(lambda: self.handlers)
            )
            for table in tables
        ]
        self.lane_table: Table = lane_table(self.metadata, self.database)
        self.lane_leases: LaneLeases = LaneLeases(self.lane_table, self.worker_table, self.database)
        destinations = destination_tables(self.metadata, self.database)
        self.destinations: Destinations = Destinations(
            destinations, self.worker_table, self.database
        )
        self.freed_with_a_process: tuple[Callable[[Connection, UUID], object], ...] = (
            self.lane_leases.leave,
            self.destinations.free,
        )
        followers = Followers(tables, self.hold_table, self.database)
        self.dead_letters: DeadLetters = DeadLetters(
            letters,
            tables,
            holds,
            followers,
            self.database,
            self.ring,
            self._check_body,
            self.ledger.settlements.reopen,
        )
        self.archive: Archive = Archive(
            tables,
            letters.letters,
            self.ledger.table,
            followers,
            self.database,
            lambda: retention_of(self.settings, self.handlers.horizon),
            self.identities.draw,
        )
        self.events: Events = Events(
            tables, self.letter_table, self.worker_table, self.lane_table, self.hold_table, database
        )
        self.metrics: Metrics = Metrics(tables, self.claims, self.database, lambda: self.handlers)
        self.outbox: Outbox = Outbox(
            self.outbox_table,
            self.database,
            self.identities,
            max_bytes=settings.number("payload.max_bytes"),
            ring=self.ring,
            tally=self.metrics.tally,
        )
        self.publishing: Publishing = Publishing(
            self.outbox, lambda: self.engine, lambda: self.bell
        )
        self.event_loop: EventLoop = EventLoop()
        self.providers: Providers = self._fresh_providers()

    @contextmanager
    def elsewhere(self, there: Elsewhere) -> Iterator[None]:
        """For tests: be on another database, under another clock; afterwards all is as before.

        What is declared stays; what was built for the other place is used again the next time."""
        before = vars(self).copy()
        if there.rooms:
            self._become(there.rooms)
        else:
            self._move(there)
        self._handlers, self.providers = None, self._fresh_providers()
        self.bell = NullBell()  # nobody listens: a test drains
        try:
            yield
        finally:
            try:
                self.close()
            finally:
                there.rooms = vars(self).copy()
                self._become(before)

    def _move(self, there: Elsewhere) -> None:
        made = {name for name, one in vars(Todoke).items() if isinstance(one, cached_property)}
        self._become({name: one for name, one in vars(self).items() if name not in made})
        self.clock, self.random = there.clock, there.random
        if there.url is not None:
            self.settings = self.settings.with_values({"database.url": there.url})
            self._given_engine, self._address = None, address_of(there.url, self.settings)
            if self._make_session is not None:
                self._make_session = bound(self._make_session, lambda: self.engine)
        self._build_rooms()

    def _become(self, state: Mapping[str, Any]) -> None:
        vars(self).clear()
        vars(self).update(state)

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

    def _fresh_providers(self) -> Providers:
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

    def _slots(self) -> int:
        """How many handlers may run at once, each with a connection."""
        return max(self.settings.number("worker.threads"), sum(self.settings.queues.values()))

    @property
    def url(self) -> URL:
        """Where the database is."""
        return self._address()

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
        fresh = self._make_session() if self._make_session else Session(self.engine)
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
        known = sum(len(context.wishes) for context in self.contexts)
        if self._handlers is None or self._handlers[0] != known:
            self._handlers = (known, Handlers.of(self))
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

    def _name_for(self, item: Item) -> str:
        return self.handlers.name_for(item)

    def _check_body(self, letter: Row[Any], body: str) -> None:
        kind = self.event_class(letter.context, letter.type)
        if kind is not None:
            kind.model_validate_json(body)
