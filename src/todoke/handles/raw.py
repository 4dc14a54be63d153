"""A driver's own connection, sync or async."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar
from weakref import WeakSet

from sqlalchemy import URL, Engine

from todoke.database import Database, safe_url, same_database
from todoke.databases import schema
from todoke.databases.drivers import NAMES, driver_of
from todoke.databases.drivers.statement import Statements
from todoke.databases.sqlite import in_memory
from todoke.driver import AsyncDriver, Copies, Driver, Parameters, SyncDriver
from todoke.errors import NotInTransaction, OtherDatabase, TodokeError
from todoke.handles.promise import Promise, Promised
from todoke.writing import Ask, Copy, Execute, Find, Step, Writing, run, run_async

R = TypeVar("R")
Make: TypeAlias = Callable[[bool], Writing[R]]
"""The statements to run; told whether many rows can be streamed."""
After: TypeAlias = Callable[[Driver, Any, R], None]
"""Told, in the transaction, what they have found."""


def known_driver(connection: Any, call: str) -> SyncDriver | AsyncDriver:
    """Whose it is; what is no connection at all is refused."""
    driver = driver_of(connection)
    if driver is None:
        raise TodokeError(
            f"{call} got {type(connection).__name__}. Pass the transaction your change is made "
            "in: a SQLAlchemy Session, AsyncSession, Connection or AsyncConnection, or a "
            f"connection of {', '.join(NAMES)}."
        )
    return driver


class RawConnections:
    """Runs statements on connections of drivers that todoke knows."""

    def __init__(self, database: Database, engine: Callable[[], Engine]) -> None:
        self._database, self._engine = database, engine
        self._statements: dict[tuple[type, str], Statements] = {}
        self._here: WeakSet[Any] = WeakSet()

    def run(
        self, driver: SyncDriver, connection: Any, make: Make[R], call: str, after: After[R]
    ) -> R:
        connection = driver.own(connection)
        if not (driver.stays and connection in self._here):
            self._check_place(driver.address(connection), connection, call, stays=driver.stays)
        if driver.commits_by_itself(connection):
            raise NotInTransaction(call, driver.name, driver.remedy)
        writing = make(isinstance(driver, Copies))
        with schema.needed(self._database):
            found = run(writing, partial(self._perform, driver, connection))
        after(driver, connection, found)
        return found

    def promised(
        self, driver: AsyncDriver, connection: Any, make: Make[R], call: str, after: After[R]
    ) -> Promised[R]:
        """What is to be called and awaited; until then the connection is watched."""
        connection = driver.own(connection)
        promise = Promise(connection, call, driver)

        async def run_promised() -> R:
            with promise.kept():
                return await self._run_async(driver, connection, make, call, after)

        return run_promised

    async def _run_async(
        self, driver: AsyncDriver, connection: Any, make: Make[R], call: str, after: After[R]
    ) -> R:
        if not (driver.stays and connection in self._here):
            address = await driver.address(connection)
            self._check_place(address, connection, call, stays=driver.stays)
        if await driver.commits_by_itself(connection):
            raise NotInTransaction(call, driver.name, driver.remedy)
        writing = make(isinstance(driver, Copies))
        with schema.needed(self._database):
            found = await run_async(writing, partial(self._perform, driver, connection))
        after(driver, connection, found)
        return found

    def _check_place(self, address: URL | None, connection: Any, call: str, *, stays: bool) -> None:
        ours = self._engine()
        if address is not None and not self._leads_here(address, connection, ours):
            raise OtherDatabase(call, safe_url(address), safe_url(ours.url))
        if stays:
            self._here.add(connection)

    @staticmethod
    def _leads_here(address: URL, connection: Any, ours: Engine) -> bool:
        if same_database(address, ours.url):
            return True
        if not (in_memory(address) and in_memory(ours.url)):
            return False
        with ours.connect() as own:
            return own.connection.driver_connection is connection

    def _perform(self, driver: Any, connection: Any, step: Step) -> Any:
        """The step's answer, which is awaited where the driver is async."""
        if isinstance(step, Copy):
            return driver.copy(connection, step)
        statements = self._statements_of(driver)
        if isinstance(step, Find):
            finding = statements.prepared(step.statement, step.values)
            return driver.find(connection, finding.text, finding.parameters(step.values))
        if isinstance(step, Ask):
            asking = statements.prepared(step.statement)
            return driver.ask(connection, asking.text, asking.parameters({}))
        return _execute(driver, connection, statements, step)

    def _statements_of(self, driver: Driver) -> Statements:
        key = (type(driver), driver.dialect)
        if key not in self._statements:
            self._statements[key] = Statements(driver)
        return self._statements[key]


def _execute(driver: Any, connection: Any, statements: Statements, step: Execute) -> Any:
    if not isinstance(step.values, Sequence):
        prepared = statements.prepared(step.statement, step.values)
        return driver.execute(connection, prepared.text, prepared.parameters(step.values))
    prepared = statements.prepared(step.statement, step.values[0])
    many: list[Parameters] = [prepared.parameters(values) for values in step.values]
    if len(many) == 1:
        return driver.execute(connection, prepared.text, many[0])
    return driver.execute_many(connection, prepared.text, many)
