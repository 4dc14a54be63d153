"""What one process is among the workers: what it serves, and how it stays a member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from todoke.clock import SystemClock
from todoke.databases.sqlite import in_memory
from todoke.errors import InvalidOption
from todoke.handlers import Handlers
from todoke.settings import DEFAULTS, Settings
from todoke.work.lease import JOBS, Service

if TYPE_CHECKING:
    from todoke.app import Todoke


def service_of(
    handlers: Handlers, queues: Mapping[str, int], contexts: Sequence[str] | None
) -> Service:
    """What this process does, of all that the application can."""
    everything = Service({}, queues, contexts)
    registers = {
        kind: {name: stream for name, stream in of.items() if everything.serves(stream)}
        for kind, of in handlers.registers.items()
    }
    # In whichever queue: `enqueue` may name another than the job's own.
    jobs = {
        name: handler.stream
        for name, handler in handlers.jobs.items()
        if contexts is None or handler.context in contexts
    }
    registers |= {JOBS: jobs}
    return Service({kind: of for kind, of in registers.items() if of}, queues, contexts)


def renewal_of(settings: Settings) -> float:
    """Seconds between two renewals of the lease."""
    renew, lease = settings.seconds("lease.renew"), settings.seconds("lease.duration")
    if settings.get("lease.renew") == DEFAULTS["lease.renew"]:
        return min(renew, lease / 3)
    if renew >= lease:
        raise InvalidOption(
            "lease.renew",
            settings.get("lease.renew"),
            f"must be shorter than the lease, {lease:g} s.",
        )
    return renew


def lease_files(app: Todoke) -> Path | None:
    """Where SQLite's workers have their leases; None where they are rows."""
    if app.database.kind != "sqlite" or in_memory(app.url):
        return None
    if not isinstance(app.clock, SystemClock):
        return None  # the kernel's time is not the test's
    return Path(f"{app.url.database}-workers").absolute()
