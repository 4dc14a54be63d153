"""What the engine counts and says of itself; no personal data goes in."""

from __future__ import annotations

import logging
import re
from collections import Counter

log = logging.getLogger("todoke")

_ADDRESS = re.compile(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)+)")


class Counts(Counter[str]):
    """Figures of one process: claimed, processed, retried, dead, fenced, rescued …"""


def masked(text: str) -> str:
    """Text without mail addresses, for logs and error messages."""
    return _ADDRESS.sub(r"***@\1", text)
