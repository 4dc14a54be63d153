"""The shop's own tables: their metadata, their time type, their migrations."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import BigInteger, DateTime, Dialect, Engine, Integer, MetaData, Table
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeDecorator

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite numbers rows by itself only where the type is exactly INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """A moment, kept in UTC; SQLite forgets the zone, so it is put back when read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def put(session: Session, table: Table, row: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    """Insert the row, or change the one that is there, in one statement.

    Several who found nothing, inserted and then changed would wait for each other on MariaDB: there
    who finds that a row exists keeps others from changing it.
    """
    dialect = session.get_bind().dialect.name
    key = [column.name for column in table.primary_key]
    if dialect in ("mariadb", "mysql"):
        session.execute(mysql.insert(table).values(**row).on_duplicate_key_update(**change))
        return
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    session.execute(
        insert(table).values(**row).on_conflict_do_update(index_elements=key, set_=change)
    )


def migrate(engine: Engine) -> None:
    """Create the shop's tables, or bring them up to date; safe to repeat."""
    config = Config()
    config.set_main_option("script_location", "shop:migrations")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
