"""todoke in a Django project: `INSTALLED_APPS = [..., "todoke.django"]`.

`TODOKE = {"app": "shop.events:app"}` in the settings names the application. Its tables come with
`manage.py migrate`, its command line is `manage.py todoke …`, its handlers may use the ORM, and the
admin has a page for people on call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import django
from django.apps import apps

if TYPE_CHECKING:
    from todoke.app import Todoke


def __getattr__(name: str) -> Todoke:
    """`todoke.django:app` is what a worker process loads, in a fresh interpreter."""
    if name != "app":
        raise AttributeError(name)
    if not apps.ready:
        django.setup()
    from todoke.django.project import application  # noqa: PLC0415

    return application()
