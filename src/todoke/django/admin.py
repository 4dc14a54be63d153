"""A page for people on call: what waits, who works, what died. It changes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.text import capfirst
from django.utils.timezone import localtime
from sqlalchemy import Connection

from todoke.app import Todoke
from todoke.cli.payload import Payloads
from todoke.cli.reach import reading
from todoke.cli.screen import length
from todoke.cli.status import look
from todoke.dead_letters.letter import DeadLetter
from todoke.django.models import Overview
from todoke.django.project import application
from todoke.django.words import say
from todoke.errors import TodokeError

_NEWEST = 50


@admin.register(Overview)
class OverviewAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Two pages of its own instead of a list of rows."""

    def get_urls(self) -> list[Any]:
        guarded = self.admin_site.admin_view
        return [
            path("", guarded(self.overview), name="todoke_overview_changelist"),
            path("dead-letters/<uuid:id>/", guarded(self.dead_letter), name="todoke_dead_letter"),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def overview(self, request: HttpRequest) -> HttpResponse:
        self._require_view(request)
        try:
            found = _figures(application())
        except TodokeError as error:
            found = {"trouble": str(error)}
        return self._page(request, "overview", capfirst(say("overview")), found)

    def dead_letter(self, request: HttpRequest, id: UUID) -> HttpResponse:
        self._require_view(request)
        app = application()
        with reading(app) as connection:
            letter = _letter(app, connection, id)
        payloads = Payloads(app)
        found = {
            "letter": letter,
            "facts": _facts(letter, payloads),
            "payload": payloads.text(letter.context, letter.type, letter.body),
        }
        return self._page(request, "dead_letter", f"{say('dead letter')} {id}", found)

    def _require_view(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def _page(
        self, request: HttpRequest, name: str, title: str, found: dict[str, Any]
    ) -> HttpResponse:
        told = {
            **self.admin_site.each_context(request),
            **found,
            "title": title,
            "opts": self.opts,
            "say": _Words(),
            "console_url": getattr(settings, "TODOKE", {}).get("console_url"),
        }
        return TemplateResponse(request, f"admin/todoke/{name}.html", told)


class _Words:
    """`{{ say.ran_out }}` in a template is `say("ran out")`."""

    def __getitem__(self, text: str) -> str:
        return say(text.replace("_", " "))


def _figures(app: Todoke) -> dict[str, Any]:
    now = look(app)
    with reading(app) as connection:
        letters = app.dead_letters.list(connection, limit=_NEWEST).items
    figures, oldest = now.figures, now.figures.oldest_pending
    return {
        "database": now.database,
        "backlog": [
            (say("pending"), figures.pending, _since(oldest) if figures.pending else ""),
            (say("processing"), figures.processing, ""),
            (say("processed in the last minute"), figures.processed_last_minute, ""),
            (say("dead letters"), figures.dead, ""),
            (say("held keys"), figures.held_keys, _since(figures.oldest_hold)),
        ],
        "workers": [
            (one.name, length(now.now - one.started_at), one.lease_ok, one.lanes)
            for one in now.workers
        ],
        "letters": [(_moment(one.died_at), one) for one in letters],
    }


def _since(waiting: timedelta | None) -> str:
    return "" if waiting is None else f"{say('the oldest for')} {length(waiting)}"


def _moment(when: datetime) -> str:
    return f"{localtime(when):%Y-%m-%d %H:%M:%S %Z}"


def _letter(app: Todoke, connection: Connection, id: UUID) -> DeadLetter:
    """Without noting that a person has looked, as the command line does: this page only reads."""
    chosen = app.dead_letters.where(ids=[id])
    for closed in (False, True):
        for letter in app.dead_letters.list(connection, chosen, closed=closed).items:
            return letter
    raise Http404(f"no dead letter {id}")


def _facts(letter: DeadLetter, payloads: Payloads) -> list[tuple[str, object]]:
    key = payloads.key(letter.context, letter.type, letter.key)
    told: dict[str, object] = {
        "name": letter.name,
        "code": letter.code,
        "error class": letter.error_class,
        "message": letter.message,
        "attempts": letter.attempts,
        "event": letter.message_id,
        "type": f"{letter.type}, v{letter.version}",
        "context": letter.context,
        "key": key,
        "created": _moment(letter.created_at),
        "died": _moment(letter.died_at),
        "closed": letter.closed_as,
    }
    return [(say(name), value) for name, value in told.items() if value is not None]
