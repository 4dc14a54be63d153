"""What todoke's jobs want to reach: what events reach, and the first place among like peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.bar import Bar, Found, between, ratio
from bench.jobs.scenarios import (
    ASYNCPG,
    AT_100,
    AT_BEST,
    CONNECTION,
    DRIVER,
    IN_TRANSACTION,
    SESSION,
    TRANSACTIONAL,
    ours,
)
from bench.scenario import RAW

FIRST = "the first of its peers"


def bars() -> Iterator[Bar]:
    yield from _enqueueing()
    yield from _draining()
    for figure in ("p50", "p99"):
        scenario = f"jobs-latency, {figure}"
        to_first = _to_first(scenario, "todoke")
        yield Bar(f"{scenario}: todoke ÷ {FIRST}", 1, to_first, (scenario,), at_most=True)


def _enqueueing() -> Iterator[Bar]:
    for handle, bound in ((CONNECTION, 0.8), (SESSION, 0.5), (DRIVER, 0.8)):
        yield ratio(f"jobs-enqueue: {handle} ÷ raw", bound, "jobs-enqueue", handle, RAW)
        yield ratio(f"jobs-bulk: {handle} ÷ raw", 0.8, "jobs-bulk", handle, RAW)
    for scenario, handle, group in (
        ("jobs-enqueue", DRIVER, IN_TRANSACTION),
        ("jobs-enqueue", ASYNCPG, IN_TRANSACTION),
        ("jobs-bulk", DRIVER, ""),
    ):
        to_first = _to_first(scenario, handle, group)
        yield Bar(f"{scenario}: {handle} ÷ {FIRST}", 1, to_first, (scenario,))


def _draining() -> Iterator[Bar]:
    for group in (AT_100, AT_BEST):
        name, threads = ours("async def", group), ours("def in threads", group)
        for scenario, to_pgqueuer in (("jobs-drain", 3), ("jobs-drain-two", 2)):
            what = f"{scenario}, {group}: todoke ÷"
            yield ratio(f"{what} pgqueuer", to_pgqueuer, scenario, name, "pgqueuer")
            yield Bar(f"{what} {FIRST}", 1, _to_first(scenario, name, group), (scenario,))
        yield ratio(f"jobs-drain, {group}: todoke ÷ raw", 0.5, "jobs-drain", name, RAW)
        more, both = between(("jobs-drain-two", name), ("jobs-drain", name)), "jobs-drain-two"
        yield Bar(f"jobs-drain, {group}: two processes ÷ one", 1, more, ("jobs-drain", both))
        beside = between(("jobs-drain", threads), ("jobs-drain", name))
        yield Bar(f"jobs-drain, {group}: threads ÷ async", 0.7, beside, ("jobs-drain",))


def _to_first(scenario: str, name: str, group: str = "") -> Callable[[Found], float | None]:
    """The ratio to the best of those peers that are transactional with the database, if all ran."""

    def reached(found: Found) -> float | None:
        measured = found[scenario]
        peers = [measured.best(side, group) for side in TRANSACTIONAL]
        theirs = [measured.middle(peer.name) for peer in peers if peer is not None]
        own = measured.middle(name)
        known = [one for one in theirs if one is not None]
        if own is None or len(known) < len(TRANSACTIONAL):
            return None
        return own / (min if measured.scenario.less_is_better else max)(known)

    return reached
