"""Django's connections: `django.db.connection`, `connections["billing"]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sqlalchemy import URL

from todoke.bell import Bell, Hints
from todoke.driver import CursorDriver

_DIALECTS = {
    "postgresql": "postgresql+psycopg",
    "mysql": "mariadb+pymysql",
    "sqlite": "sqlite+pysqlite",
}
# Options of Django's, not of the driver.
_DJANGOS = frozenset({"isolation_level", "server_side_binding", "assume_role", "pool"})


class Django(CursorDriver):
    """Statements go through Django's cursors, so that its query log and its hooks see them."""

    name = "a Django connection"
    paramstyle: ClassVar[str | None] = "format"
    remedy = "Wrap the call in `with transaction.atomic():`."

    def __init__(self, vendor: str) -> None:
        # Oracle has no dialect here, and is refused as another database.
        self.dialect: str = _DIALECTS.get(vendor, "sqlite+pysqlite")

    def address(self, connection: Any) -> URL | None:
        return address_of(connection)

    def commits_by_itself(self, connection: Any) -> bool:
        return not connection.in_atomic_block and bool(connection.get_autocommit())

    def ring_when_over(self, connection: Any, bell: Bell, hints: Hints) -> None:
        # Without an atomic block Django does not tell of commits: workers poll.
        if connection.in_atomic_block:
            connection.on_commit(lambda: bell.ring(hints), robust=True)


def address_of(connection: Any) -> URL:
    """Where it leads now: Django's tests change it."""
    said = connection.settings_dict
    if connection.vendor == "sqlite":
        return _sqlite(str(said["NAME"]))
    return URL.create(
        "mariadb" if connection.vendor == "mysql" else connection.vendor,
        username=said.get("USER") or None,
        password=said.get("PASSWORD") or None,
        host=said.get("HOST") or None,
        port=int(said["PORT"]) if said.get("PORT") else None,
        database=said.get("NAME") or None,
        query=_query(said.get("OPTIONS") or {}),
    )


def _sqlite(name: str) -> URL:
    file, _, options = name.partition("?")
    if not name.startswith("file:"):
        return URL.create("sqlite", database=name)
    query = dict(pair.split("=", 1) for pair in options.split("&") if "=" in pair)
    return URL.create("sqlite", database=file, query={**query, "uri": "true"})


def _query(options: Mapping[str, Any]) -> dict[str, str]:
    """What the driver is told beside the address, as far as it is text."""
    told = {f"ssl_{name}": value for name, value in (options.get("ssl") or {}).items()}
    told.update(options)
    return {
        name: str(value)
        for name, value in told.items()
        if name not in _DJANGOS and isinstance(value, str | int) and not isinstance(value, bool)
    }
