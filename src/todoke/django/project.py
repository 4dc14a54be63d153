"""Which application a Django project has, and in which of its databases."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.module_loading import import_string

from todoke.app import Todoke
from todoke.database import same_database
from todoke.databases.drivers.django import address_of


def application() -> Todoke:
    """The one that settings.TODOKE["app"] names."""
    named = str(getattr(settings, "TODOKE", {}).get("app") or "")
    if ":" not in named:
        raise ImproperlyConfigured(
            f"settings.TODOKE names no application (app: {named!r}). "
            'Write TODOKE = {"app": "shop.events:app"}.'
        )
    found = import_string(named.replace(":", "."))
    if not isinstance(found, Todoke):
        raise ImproperlyConfigured(
            f"settings.TODOKE['app'] = {named!r} is of type {type(found).__name__}, not a Todoke."
        )
    return found


def alias_of(app: Todoke) -> str | None:
    """The alias of the database its tables live in; None where Django does not know it."""
    return next((alias for alias in connections if _leads_there(alias, app)), None)


def _leads_there(alias: str, app: Todoke) -> bool:
    try:
        address = address_of(connections[alias])
    except KeyError:  # a dummy or foreign backend
        return False
    # Two in memory are the same only by their names.
    return address == app.url or same_database(address, app.url)
