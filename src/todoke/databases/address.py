"""Where an application's database is: by its URL, its engine, or a connection of Django's."""

from __future__ import annotations

from sqlalchemy import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError

from todoke.databases.drivers import driver_of
from todoke.databases.engines import Address
from todoke.errors import InvalidOption
from todoke.settings import Settings


def address_of(database: object, settings: Settings) -> Address:
    """Asked each time: a Django project's address changes when its tests begin."""
    if isinstance(database, Engine):
        return lambda: database.url
    if database is None or isinstance(database, str):
        url = _read(settings.database_url)
        return lambda: url
    if not is_djangos(database):
        raise InvalidOption(
            "Todoke(database)",
            type(database).__name__,
            "pass an address, a SQLAlchemy Engine (for an AsyncEngine, its address), or a "
            "connection of Django's.",
        )
    from todoke.databases.drivers.django import address_of as djangos  # noqa: PLC0415

    return lambda: djangos(database)


def _read(address: str) -> URL:
    try:
        return make_url(address)
    except ArgumentError:
        # Not shown: whatever it is, it may hold a password.
        raise InvalidOption(
            "database.url",
            "…",
            'not an address. Write "sqlite:///shop.db" or "postgresql://user@host/name".',
        ) from None


def settings_of(database: object, given: Settings | None, name: str | None) -> Settings:
    """What the application's code said, and below it what was given, or else found."""
    said: dict[str, object] = {}
    if isinstance(database, str):
        said["database.url"] = database
    if name is not None:
        said["name"] = name
    return (given or _found(database)).with_values(said)


def _found(database: object) -> Settings:
    """What TOML says, or Django's settings under TODOKE."""
    if not is_djangos(database):
        return Settings.load()
    from django.conf import settings  # noqa: PLC0415

    return Settings(getattr(settings, "TODOKE", None), origin="settings.TODOKE")


def is_djangos(database: object) -> bool:
    """It is a connection of Django's."""
    return driver_of(database) is not None and hasattr(database, "vendor")
