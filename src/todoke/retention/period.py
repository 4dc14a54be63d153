"""How long what is done with is kept, and where it goes afterwards; checked at start."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from pathlib import Path

from todoke.errors import InvalidOption
from todoke.retention.format import Format, format_of
from todoke.settings import Settings

_DAY = 86_400.0
_LONGEST = 100 * 365 * _DAY
"""A policy with a billion attempts asks for more time than a database can tell."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the archive is, and how its files are written."""

    path: Path
    format: Format


@dataclass(frozen=True, slots=True)
class Retention:
    """Seconds, by what is kept; without an archive old rows are only deleted."""

    processed: float
    inbox: float
    dead: float
    archive: Folder | None


def retention_of(settings: Settings, horizon: float) -> Retention:
    """What the settings say; `horizon` is how long the most patient handler goes on trying."""
    dead = settings.seconds("retention.dead")
    return Retention(
        processed=settings.seconds("retention.processed"),
        inbox=_inbox(settings, min(dead + horizon, _LONGEST)),
        dead=dead,
        archive=folder_of(settings),
    )


def folder_of(settings: Settings) -> Folder | None:
    to = settings.get("archive.to")
    if to is None or not str(to).strip():
        return None
    return Folder(Path(str(to)), format_of(settings.text("archive.format")))


def _inbox(settings: Settings, least: float) -> float:
    """A message that is redriven late must still be known to those who have handled it."""
    if settings.get("retention.inbox") is None:
        return ceil(least / _DAY) * _DAY
    said = settings.seconds("retention.inbox")
    if said < least:
        raise InvalidOption(
            "retention.inbox",
            settings.get("retention.inbox"),
            "must not be shorter than retention.dead and the longest time a handler goes on "
            f"trying together. The smallest value allowed is {ceil(least)}s.",
        )
    return said
