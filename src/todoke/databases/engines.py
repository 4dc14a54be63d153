"""An application's connections: made when first needed, to where its address leads then."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import URL, Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from todoke.database import Database
from todoke.databases.sqlite import in_memory
from todoke.errors import InvalidOption

Address = Callable[[], URL]


class Engines:
    """Three of them: for callers and handlers, for a worker's agents, for async code.

    An address may change, as that of a Django project does when its tests begin.
    """

    def __init__(
        self, database: Database, address: Address, given: Engine | None, *, slots: int
    ) -> None:
        self._database, self._address, self._given, self._slots = database, address, given, slots
        self._made: dict[str, tuple[URL, Engine]] = {}
        self._made_async: tuple[URL, AsyncEngine] | None = None

    @property
    def main(self) -> Engine:
        return self._remembered("main", self._make)

    @property
    def agents(self) -> Engine:
        if self._given is not None or in_memory(self._address()):
            return self.main
        return self._remembered("agents", lambda: self._database.agents_engine(self._address()))

    @property
    def asynchronous(self) -> AsyncEngine:
        url = self._address()
        if in_memory(url):
            raise InvalidOption(
                "database.url", "sqlite://", "an in-memory database has no async side. Use a file."
            )
        if self._made_async is None or self._made_async[0] != url:
            self._made_async = (url, self._database.async_engine(url, max(16, self._slots)))
        return self._made_async[1]

    def let_go(self) -> AsyncEngine | None:
        """Close what was opened here; the async one is answered, since that is awaited."""
        asynchronous = self._made_async[1] if self._made_async else None
        for _, engine in self._made.values():
            if self._given is None:
                engine.dispose()
        self._made.clear()
        self._made_async = None
        return asynchronous

    def _make(self) -> Engine:
        if self._given is not None:
            return self._database.adopt(self._given)
        return self._database.engine(self._address(), pool_size=self._slots + 1)

    def _remembered(self, name: str, make: Callable[[], Engine]) -> Engine:
        url = self._address()
        made = self._made.get(name)
        if made is None or (made[0] is not url and made[0] != url):
            if made is not None:
                made[1].dispose()
            made = self._made[name] = (url, make())
        return made[1]
