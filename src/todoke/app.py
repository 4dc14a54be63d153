"""The application: wires the rooms together; nothing connects before it must."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from random import Random, SystemRandom
from typing import Any

from sqlalchemy import Engine, MetaData, Row, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from todoke import crash
from todoke.clock import Clock, SystemClock
from todoke.context import Context
from todoke.databases import open_database, schema
from todoke.databases.sqlite import in_memory, prepare
from todoke.dead_letters.bury import Burial
from todoke.dead_letters.redrive import DeadLetters
from todoke.dead_letters.table import dead_letter_tables
from todoke.errors import InvalidOption
from todoke.handlers import Handlers
from todoke.identity import Identities
from todoke.message import Event
from todoke.outbox.publish import Outbox
from todoke.outbox.publishing import Publishing
from todoke.outbox.read import Events
from todoke.runtime import Runtime
from todoke.settings import Settings
from todoke.work.claim import Claims
from todoke.work.inject import Provider, Providers
from todoke.work.item import Item
from todoke.work.settle import Settling
from todoke.work.slots import EventLoop
from todoke.work.table import work_table, worker_table


class Todoke(Context):
    """Database, contexts, handlers: what `todoke worker` runs. Is itself a Context."""

    def __init__(
        self,
        database: str | Engine | None = None,
        *,
        name: str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        session: Callable[[], Session] | None = None,
    ) -> None:
        self.settings = _settings(settings, database, name)
        super().__init__(self.settings.text("name"))
        self._app = self
        self.clock = clock or SystemClock()
        self.random = random or SystemRandom()
        self._given_engine = database if isinstance(database, Engine) else None
        self._make_session = session
        self.contexts: list[Context] = [self]
        self._handlers: tuple[int, Handlers] | None = None
        self._build_rooms()

    def _build_rooms(self) -> None:
        settings = self.settings
        self.url = self._given_engine.url if self._given_engine else make_url(settings.database_url)
        self.database = open_database(
            self.url,
            self.clock,
            schema=settings.text("database.schema"),
            prefix=settings.text("database.prefix"),
        )
        self.metadata = MetaData()
        self.identities = Identities(self.clock, self.random.getrandbits)
        self.outbox_table = work_table("event", "outbox", self.metadata, self.database)
        self.inbox_table = work_table("delivery", "inbox", self.metadata, self.database)
        self.worker_table = worker_table(self.metadata, self.database)
        letters = dead_letter_tables(self.metadata, self.database)
        self.burial = Burial(letters, self.database, self.identities, self._name_for)
        tables = [self.outbox_table, self.inbox_table]
        self.claims = [Claims(table, self.worker_table, self.database) for table in tables]
        self.settlings = [Settling(table, self.database, self.burial) for table in tables]
        self.dead_letters = DeadLetters(letters, tables, self.database, self._check_body)
        self.events = Events(tables, letters.letters, self.worker_table, self.database)
        self.outbox = Outbox(
            self.outbox_table,
            self.database,
            self.identities,
            max_bytes=settings.number("payload.max_bytes"),
        )
        self.publishing = Publishing(self.outbox, lambda: self.engine)
        self.event_loop = EventLoop()
        self.providers = Providers(
            {Settings: settings, Todoke: self}, self._declared, self.event_loop
        )

    # --- contexts ----------------------------------------------------------------------------

    def include(self, *contexts: Context) -> None:
        """Make contexts part of this application; their modules are imported now."""
        for context in contexts:
            if any(known.name == context.name for known in self.contexts):
                raise InvalidOption(
                    "include", context.name, "a context of this name is in already."
                )
            self.contexts.append(context)
            context.join(self)

    def _declared(self) -> list[Provider]:
        return [one for context in self.contexts for one in context.provided]

    def _provider_context(self) -> str | None:
        return None

    # --- database ----------------------------------------------------------------------------

    @cached_property
    def engine(self) -> Engine:
        """The engine; made when first needed."""
        if self._given_engine is not None:
            return self.database.adopt(self._given_engine)
        slots = max(self.settings.number("worker.threads"), sum(self.settings.queues.values()))
        return self.database.engine(self.url, pool_size=slots + 1)

    @cached_property
    def agents_engine(self) -> Engine:
        """Connections for the worker's agents, so that handlers can never use up the last one."""
        if self._given_engine is not None or in_memory(self.url):
            return self.engine
        return self.database.engine(self.url, pool_size=5, patience=1.0)

    @cached_property
    def async_engine(self) -> AsyncEngine:
        """The same database for async code."""
        if self.url.get_backend_name() != "sqlite":
            url = self.url.set(drivername="postgresql+psycopg")
            slots = max(16, sum(self.settings.queues.values()))
            return create_async_engine(
                url, pool_size=slots, pool_pre_ping=True, isolation_level="READ COMMITTED"
            )
        if in_memory(self.url):
            raise InvalidOption(
                "database.url", "sqlite://", "an in-memory database has no async side. Use a file."
            )
        url = self.url.set(drivername="sqlite+aiosqlite")
        engine = create_async_engine(url, connect_args={"timeout": 30, "check_same_thread": False})
        prepare(engine.sync_engine)
        return engine

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

    def migrate(self) -> None:
        """Create or upgrade todoke's tables; safe to repeat."""
        schema.migrate(self.engine, self.database)

    def migration_sql(self) -> str:
        """What `migrate` would run."""
        return schema.migration_sql(self.database, self.url.render_as_string(hide_password=True))

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

    def close(self) -> None:
        """Let go of connections and threads."""
        self.providers.close()
        if "async_engine" in self.__dict__:
            self.providers.run(self.async_engine.dispose())
        self.event_loop.close()
        if self._given_engine is None:
            for name in {"engine", "agents_engine"} & set(self.__dict__):
                getattr(self, name).dispose()

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


def _settings(given: Settings | None, database: str | Engine | None, name: str | None) -> Settings:
    said: dict[str, object] = {}
    if isinstance(database, str):
        said["database.url"] = database
    if name is not None:
        said["name"] = name
    return (given or Settings.load()).with_values(said)
