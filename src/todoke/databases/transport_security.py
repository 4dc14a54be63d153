"""Whether the line to a database is encrypted, and whether it has to be."""

from __future__ import annotations

from dataclasses import dataclass

from todoke.finding import Finding, bad, ok, warn
from todoke.settings import Settings

_WANTED = "TLSv1.3"


@dataclass(frozen=True, slots=True)
class Line:
    """One connection: its version of TLS, if any."""

    version: str | None
    is_local: bool = False
    """It does not leave the machine: a socket in a file."""
    is_broken: bool = False
    """Something between us and the server ends TLS on one side only."""


def judged(line: Line, settings: Settings, how: str) -> Finding:
    """Without TLS bad where the settings require it, a warning where they give it up in prod."""
    if line.is_local:
        return ok("tls", "none needed: a local socket")
    found = _found(line)
    if line.version == _WANTED:
        return ok("tls", found)
    if settings.requires_tls:
        required = f"{found}; {_WANTED} is required (env = {settings.env})"
        return bad("tls", required, f"Let the server offer {_WANTED}, and {how}.")
    if settings.env == "prod":
        return warn(
            "tls",
            f"{found}; database.require_tls = false gives it up in env = prod",
            f"Take database.require_tls = false out, and {how}.",
        )
    return ok("tls", f"{found}; not required (env = {settings.env})")


def _found(line: Line) -> str:
    if line.is_broken:
        return "TLS ends on the way: a pooler speaks without it on one side"
    return line.version or "no TLS"
