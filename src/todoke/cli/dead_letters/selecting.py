"""The filters by which people choose among dead letters; the same for all commands."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer

from todoke.dead_letters.letter import Selection, where
from todoke.errors import InvalidOption

Source = Annotated[str | None, typer.Option(help="Where it died: event, delivery or job.")]
Name = Annotated[str | None, typer.Option(help="The handler's name, or the event's type.")]
Code = Annotated[str | None, typer.Option(help="The error's code, such as SMTP_451.")]
ErrorClass = Annotated[str | None, typer.Option(help="permanent, transient, business or timeout.")]
OlderThan = Annotated[str | None, typer.Option(help="Died at least so long ago, such as 1h.")]
Ids = Annotated[
    list[UUID] | None, typer.Option("--id", help="This one; may be repeated.", show_default=False)
]

_CLASSES = ("permanent", "transient", "business", "timeout")


def selection(
    source: str | None,
    name: str | None,
    code: str | None,
    error_class: str | None,
    older_than: str | None,
    ids: list[UUID] | None,
) -> Selection:
    if error_class is not None and error_class not in _CLASSES:
        raise InvalidOption("error_class", error_class, f"one of {', '.join(_CLASSES)}.")
    return where(
        source=source,
        name=name,
        code=code,
        error_class=error_class,
        older_than=older_than,
        ids=ids or None,
    )
