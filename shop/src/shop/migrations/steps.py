"""Steps of a revision that may be taken again.

MariaDB commits each by itself: whoever comes after a migration that died finds some done. The other
databases undo all of them.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
MOMENT = sa.DateTime(timezone=True)


def create_table(name: str, *parts: sa.schema.SchemaItem) -> None:
    op.create_table(name, *parts, if_not_exists=_some_may_be_done())


def create_index(name: str, table: str, columns: list[str], *, unique: bool = False) -> None:
    op.create_index(name, table, columns, unique=unique, if_not_exists=_some_may_be_done())


def drop_index(name: str, table: str) -> None:
    op.drop_index(name, table, if_exists=_some_may_be_done())


def add_column(table: str, column: sa.Column[Any]) -> None:
    op.add_column(table, column, if_not_exists=_some_may_be_done())


def _some_may_be_done() -> bool:
    return op.get_context().dialect.name in ("mariadb", "mysql")
