"""What the engine counts and says of itself; no personal data goes in."""

from __future__ import annotations

import logging
import re
from collections import Counter

log: logging.Logger = logging.getLogger("todoke")

_ADDRESS = re.compile(r"[\w.+-]{1,64}@([\w-]{1,63}(?:\.[\w-]{1,63})+)")


class Counts(Counter[str]):
    """Figures of one process: claimed, processed, retried, dead, fenced, rescued …"""


def masked(text: str) -> str:
    """Text without mail addresses, for logs and error messages; any database can keep it."""
    writable = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    return _ADDRESS.sub(r"***@\1", writable)
