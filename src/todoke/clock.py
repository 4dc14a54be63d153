"""What time it is, asked in one place so that tests can move it.

The database's own time decides leases and due dates, because hosts disagree; a `Clock` other
than the system's is handed to the statements as a value instead (see `database.Database.now`).
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for measuring waits."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
