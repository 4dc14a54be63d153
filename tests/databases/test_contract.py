"""What every database promises, on each of those that todoke runs on."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, make_url, select, text

from tests.databases.conftest import opened
from todoke.database import same_database
from todoke.testing.conformance import DatabaseSuite, ServedDatabaseSuite
from todoke.testing.conformance.opened import Opened


class TestSqlite(DatabaseSuite):
    @pytest.fixture
    def address(self, sqlite_database: str) -> str:
        return sqlite_database


class TestPostgres(ServedDatabaseSuite):
    @pytest.fixture
    def address(self, postgres_database: str) -> str:
        return postgres_database

    def hurry(self, connection: Connection) -> None:
        connection.execute(text("SET LOCAL lock_timeout = '50ms'"))


class TestMariaDb(ServedDatabaseSuite):
    @pytest.fixture
    def address(self, mariadb_database: str) -> str:
        return mariadb_database

    def test_it_is_strict_whatever_the_servers_owner_chose(self, there: Opened) -> None:
        """OB-4"""
        ((mode,),) = there.ask(text("SELECT @@sql_mode"))
        assert "STRICT_ALL_TABLES" in str(mode)

    def test_an_address_for_mysql_opens_it_too(self, address: str) -> None:
        """OB-2"""
        url = make_url(address).set(drivername="mysql+pymysql")
        with opened(url.render_as_string()) as there:
            assert there.database.kind == "mariadb"
            assert there.ask(select(there.database.now))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mariadb+pymysql://me@host/shop", "mysql+aiomysql://you@host:3306/shop?charset=utf8mb4"),
        ("postgresql+psycopg://me@host/shop", "postgresql+asyncpg://host:5432/shop"),
    ],
)
def test_two_addresses_of_one_database_are_one_place(one: str, other: str) -> None:
    """OB-1"""
    assert same_database(make_url(one), make_url(other))
    assert not same_database(make_url(one), make_url(other.replace("shop", "bank")))
