"""A server that goes away; what else a database says of faults is in test_contract.py."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tests.databases.conftest import opened
from tests.servers.mariadb import MariaDbServer, mariadb_instance
from tests.servers.postgres import PostgresServer, postgres_instance


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_server_that_is_away_is_recognised_and_found_again(kind: str) -> None:
    """ER-2"""
    instance: AbstractContextManager[PostgresServer | MariaDbServer] = (
        postgres_instance() if kind == "postgres" else mariadb_instance()
    )
    with instance as server, opened(server.url()) as there:
        with there.engine.connect() as connection:
            connection.execute(text("SELECT 1"))
            server.stop_immediately()
            with pytest.raises(DBAPIError) as broken:
                connection.execute(text("SELECT 1"))
        with pytest.raises(DBAPIError) as refused:
            there.engine.connect()
        for met in (broken, refused):
            assert there.database.is_lost(met.value)
            assert not there.database.passes(met.value)
        server.start()
        with there.engine.connect() as connection:
            assert connection.scalar(text("SELECT 1")) == 1
