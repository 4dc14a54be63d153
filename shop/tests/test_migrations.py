"""The shop's migrations make exactly the tables that the shop declares."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, event, inspect, text

import shop.audit.table
import shop.inventory.table
import shop.ordering.table
import shop.shipping.table  # noqa: F401
from shop.database import metadata, migrate
from todoke import Todoke


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with closing(Todoke(database_url)) as app:
        yield app.engine


def differences(engine: Engine) -> list[object]:
    with engine.connect() as connection:
        options = {"version_table": "shop_version", "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, metadata))


class Killed(Exception):
    pass


@contextmanager
def killed_before(engine: Engine, change: int) -> Iterator[None]:
    """Whoever changes tables is gone before its so-manieth change."""
    left = change

    def look(connection: Any, cursor: Any, statement: str, *_: object) -> None:
        nonlocal left
        left -= statement.lstrip().startswith(("CREATE", "ALTER", "DROP"))
        if left == 0:
            raise Killed

    event.listen(engine, "before_cursor_execute", look)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", look)


def alembic(engine: Engine, step: Callable[[Config, str], None], revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", "shop:migrations")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        step(config, revision)


def test_an_empty_database_gets_the_declared_tables(engine: Engine) -> None:
    """SH-15"""
    assert differences(engine)
    migrate(engine)
    assert differences(engine) == []


def test_migrating_again_changes_nothing(engine: Engine) -> None:
    """SH-15"""
    migrate(engine)
    migrate(engine)
    assert differences(engine) == []


def test_the_shop_keeps_its_version_apart(engine: Engine) -> None:
    """SH-15: todoke's tables have a version table of their own."""
    migrate(engine)
    names = inspect(engine).get_table_names()
    assert "shop_version" in names
    assert "alembic_version" not in names


def test_a_migration_that_died_anywhere_is_taken_up_again(engine: Engine) -> None:
    """SH-15: on MariaDB, too, which undoes no change of a table; as often as it dies."""
    deaths = 0
    for change in range(1, 100):
        try:
            with killed_before(engine, change):
                migrate(engine)
        except Killed:
            deaths += 1
        else:
            break
    assert deaths >= 10
    assert differences(engine) == []


def test_orders_of_before_stay_as_they_were(engine: Engine) -> None:
    """SH-15: they go nowhere, have nothing reserved, and so are not shipped."""
    alembic(engine, command.upgrade, "0001")
    order = "INSERT INTO orders (id, number, status, placed_at) VALUES (7, '1-A', 'CONFIRMED', :at)"
    line = "INSERT INTO order_lines (order_id, name, quantity, unit_price) VALUES (7, '急須', 2, 3)"
    with engine.begin() as connection:
        connection.execute(text(order), {"at": "2026-01-05 00:00:00"})
        connection.execute(text(line))
    migrate(engine)
    told = "SELECT number, status, language, address, cancel_reason FROM orders"
    with engine.connect() as connection:
        assert connection.execute(text(told)).all() == [("1-A", "CONFIRMED", "ja", "", None)]
        assert connection.execute(text("SELECT sku, name FROM order_lines")).all() == [("", "急須")]


def test_every_revision_can_be_undone(engine: Engine) -> None:
    """SH-15"""
    migrate(engine)
    alembic(engine, command.downgrade, "base")
    assert inspect(engine).get_table_names() == ["shop_version"]
    migrate(engine)
    assert differences(engine) == []
