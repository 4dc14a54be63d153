"""Where an application's database is: by its URL, its engine, or a connection of Django's."""

from __future__ import annotations

from sqlalchemy import Engine, make_url

from todoke.databases.drivers import driver_of
from todoke.databases.engines import Address
from todoke.errors import InvalidOption
from todoke.settings import Settings


def address_of(database: object, settings: Settings) -> Address:
    """Asked each time: a Django project's address changes when its tests begin."""
    if isinstance(database, Engine):
        return lambda: database.url
    if database is None or isinstance(database, str):
        url = make_url(settings.database_url)
        return lambda: url
    if not _is_djangos(database):
        raise InvalidOption(
            "Todoke(database)",
            type(database).__name__,
            "pass a URL, a SQLAlchemy Engine, or a connection of Django's.",
        )
    from todoke.databases.drivers.django import address_of as djangos  # noqa: PLC0415

    return lambda: djangos(database)


def settings_for(database: object) -> Settings:
    """What TOML says, or Django's settings under TODOKE."""
    if not _is_djangos(database):
        return Settings.load()
    from django.conf import settings  # noqa: PLC0415

    return Settings(getattr(settings, "TODOKE", None), origin="settings.TODOKE")


def _is_djangos(database: object) -> bool:
    return driver_of(database) is not None and hasattr(database, "vendor")
