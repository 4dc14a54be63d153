"""The shop's migrations make exactly the tables that the shop declares."""

from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect

import shop.audit.table
import shop.inventory.table
import shop.ordering.table
import shop.shipping.table  # noqa: F401
from shop.database import metadata, migrate


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


def differences(engine: Engine) -> list[object]:
    with engine.connect() as connection:
        options = {"version_table": "shop_version", "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, metadata))


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
