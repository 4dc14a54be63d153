"""Letting others write where only one can at a time.

Who waits for SQLite looks again every tenth of a second at the latest. Chunks that follow each
other without a pause leave gaps of microseconds, which others miss until their patience ends.
"""

from __future__ import annotations

from collections.abc import Callable

_AFTER = 1.0
_PAUSE = 0.12


class MakingWay:
    """How long a loop that writes should rest before it goes on."""

    def __init__(self, one_writer: bool, monotonic: Callable[[], float]) -> None:
        self._one_writer, self._monotonic = one_writer, monotonic
        self._since = monotonic()

    def pause(self) -> float:
        """Seconds: none but where one writes at a time, and there after each second of work."""
        if not self._one_writer or self._monotonic() - self._since < _AFTER:
            return 0.0
        self._since = self._monotonic() + _PAUSE
        return _PAUSE
