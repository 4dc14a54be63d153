"""Publishing on a driver's own connection, sync or async: the INSERT runs at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from sqlalchemy import URL, Engine

from todoke.bell import Bell, Hints
from todoke.database import safe_url, same_database
from todoke.databases.drivers.statement import Statements
from todoke.databases.sqlite import in_memory
from todoke.driver import AsyncDriver, Copies, Driver, Parameters, SyncDriver
from todoke.errors import NotInTransaction, OtherDatabase
from todoke.outbox.promise import Promise
from todoke.outbox.publish import Outbox
from todoke.outbox.row import Row
from todoke.writing import Ask, Copy, Execute, Step, run, run_async

Write = Callable[[], Coroutine[Any, Any, None]]


class RawConnections:
    """Writes rows on connections of drivers that todoke knows."""

    def __init__(self, outbox: Outbox, engine: Callable[[], Engine], bell: Callable[[], Bell]):
        self._outbox, self._engine, self._bell = outbox, engine, bell
        self._statements: dict[tuple[type, str], Statements] = {}

    def write(self, driver: SyncDriver, connection: Any, rows: Sequence[Row], call: str) -> None:
        connection = driver.own(connection)
        self._check_place(driver.address(connection), connection, call)
        if driver.commits_by_itself(connection):
            raise NotInTransaction(call, driver.name, driver.remedy)
        writing = self._outbox.writing(rows, copies=isinstance(driver, Copies))
        with self._outbox.tables():
            hints = run(writing, partial(self._perform, driver, connection))
        self._outbox.enqueued.now(rows)
        self._ring(driver, connection, hints)

    def promised(
        self, driver: AsyncDriver, connection: Any, rows: Sequence[Row], call: str
    ) -> Write:
        """What is to be called and awaited; until then the connection is watched."""
        connection = driver.own(connection)
        promise = Promise(connection, call, driver)

        async def write() -> None:
            with promise.kept():
                await self._write_async(driver, connection, rows, call)

        return write

    async def _write_async(
        self, driver: AsyncDriver, connection: Any, rows: Sequence[Row], call: str
    ) -> None:
        self._check_place(await driver.address(connection), connection, call)
        if await driver.commits_by_itself(connection):
            raise NotInTransaction(call, driver.name, driver.remedy)
        writing = self._outbox.writing(rows, copies=isinstance(driver, Copies))
        with self._outbox.tables():
            hints = await run_async(writing, partial(self._perform, driver, connection))
        self._outbox.enqueued.now(rows)
        self._ring(driver, connection, hints)

    def _check_place(self, address: URL | None, connection: Any, call: str) -> None:
        ours = self._engine()
        if address is not None and not self._leads_here(address, connection, ours):
            raise OtherDatabase(call, safe_url(address), safe_url(ours.url))

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
        if isinstance(step, Ask):
            asking = statements.prepared(step.statement)
            return driver.ask(connection, asking.text, asking.parameters({}))
        return _execute(driver, connection, statements, step)

    def _statements_of(self, driver: Driver) -> Statements:
        key = (type(driver), driver.dialect)
        if key not in self._statements:
            self._statements[key] = Statements(driver)
        return self._statements[key]

    def _ring(self, driver: Driver, connection: Any, hints: Hints) -> None:
        if hints:
            driver.ring_when_over(connection, self._bell(), hints)


def _execute(driver: Any, connection: Any, statements: Statements, step: Execute) -> Any:
    if not isinstance(step.values, Sequence):
        prepared = statements.prepared(step.statement, step.values)
        return driver.execute(connection, prepared.text, prepared.parameters(step.values))
    prepared = statements.prepared(step.statement, step.values[0])
    many: list[Parameters] = [prepared.parameters(values) for values in step.values]
    if len(many) == 1:
        return driver.execute(connection, prepared.text, many[0])
    return driver.execute_many(connection, prepared.text, many)
