"""Which bell and which ear a database has."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from sqlalchemy import URL

from todoke.bell import Bell, Ear, NullBell, NullEar, OnRing
from todoke.database import Database
from todoke.databases.sqlite import in_memory


def bell_for(database: Database, url: URL, *, gap: float) -> Bell:
    """Opens nothing before it is rung."""
    if database.kind != "postgresql":
        return NullBell()
    # Here, not above: who uses another database need not have PostgreSQL's driver.
    from todoke.databases.postgres_bell import PostgresBell, channel_of, connector  # noqa: PLC0415

    channel = channel_of(database.schema, database.prefix)
    return PostgresBell(connector(url, "todoke bell"), channel, gap=gap)


def ear_for(
    database: Database,
    url: URL,
    listen_url: URL | None,
    on_ring: OnRing,
    *,
    gap: float,
    poll: float,
) -> Ear:
    """`listen_url` leads straight to the server where `url` leads through a pooler."""
    if database.kind == "sqlite" and not in_memory(url):
        from todoke.databases.sqlite_bell import SqliteEar  # noqa: PLC0415

        return SqliteEar(_file(url), on_ring)
    if database.kind != "postgresql":
        return NullEar()
    from todoke.databases.postgres_bell import channel_of, connector  # noqa: PLC0415
    from todoke.databases.postgres_ear import PostgresEar  # noqa: PLC0415

    channel = channel_of(database.schema, database.prefix)
    ear, notifier = connector(listen_url or url, "todoke ear"), connector(url, "todoke ear test")
    return PostgresEar(ear, notifier, channel, on_ring, gap=gap, poll=poll)


def _file(url: URL) -> Path:
    name = str(url.database)
    return Path(unquote(urlsplit(name).path) if name.startswith("file:") else name)
