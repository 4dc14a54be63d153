"""An application's connections: made when first needed, to where its address leads then."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import URL, Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from todoke.database import Database
from todoke.databases.extras import named_extra
from todoke.databases.pool import leave_to_parent
from todoke.databases.sqlite import in_memory
from todoke.errors import InvalidOption

Address = Callable[[], URL]


class Engines:
    """For callers and `def` handlers, for a worker's agents, for async code, for async handlers.

    An address may change, as that of a Django project does when its tests begin.
    """

    def __init__(
        self,
        database: Database,
        address: Address,
        given: Engine | None,
        slots: Callable[[], int],
        idle: Callable[[], float],
    ) -> None:
        """`idle` is how long an agent may leave a transaction open and say nothing."""
        self._database, self._address, self._given = database, address, given
        self._slots, self._idle = slots, idle
        self._made: dict[str, tuple[URL, Engine]] = {}
        self._made_async: dict[str, tuple[URL, AsyncEngine]] = {}

    @property
    def main(self) -> Engine:
        return self._remembered("main", self._make)

    @property
    def agents(self) -> Engine:
        if self._given is not None or in_memory(self._address()):
            return self.main
        return self._remembered("agents", self._make_agents)

    @property
    def asynchronous(self) -> AsyncEngine:
        return self._remembered_async("main")

    @property
    def of_async_handlers(self) -> AsyncEngine:
        """Apart, so that who leaves the caller's event loop closes nothing of theirs."""
        return self._remembered_async("handlers")

    def _remembered_async(self, name: str) -> AsyncEngine:
        url = self._address()
        if in_memory(url):
            raise InvalidOption(
                "database.url", "sqlite://", "an in-memory database has no async side. Use a file."
            )
        made = self._made_async.get(name)
        if made is None or made[0] != url:
            with named_extra():
                engine = self._database.async_engine(url, max(16, self._slots()))
            leave_to_parent(engine.sync_engine)
            made = self._made_async[name] = (url, engine)
        return made[1]

    async def leave_this_loop(self) -> None:
        """Close the connections that live on the caller's event loop, and die on it."""
        if "main" in self._made_async:
            await self._made_async["main"][1].dispose()

    def let_go(self) -> list[AsyncEngine]:
        """Close what was opened here; async ones are answered, since that is awaited.

        The engines themselves stay, for whoever has bound sessions to them.
        """
        if self._given is None:
            for _, engine in self._made.values():
                engine.dispose()
        return [engine for _, engine in self._made_async.values()]

    def _make(self) -> Engine:
        if self._given is not None:
            return self._database.adopt(self._given)
        with named_extra():
            engine = self._database.engine(self._address(), pool_size=self._slots() + 1)
        return leave_to_parent(engine)

    def _make_agents(self) -> Engine:
        return leave_to_parent(self._database.agents_engine(self._address(), self._idle()))

    def _remembered(self, name: str, make: Callable[[], Engine]) -> Engine:
        url = self._address()
        made = self._made.get(name)
        if made is None or (made[0] is not url and made[0] != url):
            if made is not None:
                made[1].dispose()
            made = self._made[name] = (url, make())
        return made[1]
