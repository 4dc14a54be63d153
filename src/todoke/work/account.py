"""Giving account of what was written: in the counters, and in the log where something failed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from todoke.telemetry import Counted, Label, Tally, log
from todoke.work.item import Failure, Item
from todoke.work.settlement import Dead, Later, Processed, Settlement


class Account:
    """Counts settlements that are written, and tells of attempts that failed."""

    def __init__(self, tally: Tally, name_of: Callable[[Item], str]) -> None:
        self._tally, self._name_of = tally, name_of

    def of_processed(self, item: Item) -> None:
        """A handler's own transaction has settled it."""
        self._tally.add([_sent(item)])

    def of_written(self, settlements: Iterable[Settlement]) -> None:
        """Each of them once, when its transaction is committed; none that was fenced."""
        labels: list[Label] = []
        for one in settlements:
            match one:
                case Processed(item, handled=True):
                    labels.append(_sent(item))
                case Later(item, seconds, Failure() as failure):
                    labels.append(self._failed("failed", item, failure))
                    self._tell(logging.WARNING, "PENDING", item, failure, f"again in {seconds:g} s")
                case Dead(item, failure):
                    labels.append(self._failed("aborted", item, failure))
                    self._tell(logging.ERROR, "DEAD", item, failure, "given up")
        if labels:
            self._tally.add(labels)

    def _failed(self, counted: Counted, item: Item, failure: Failure) -> Label:
        return Label(counted, item.context, item.type, item.handler, self._tally.code(failure.code))

    def _tell(self, level: int, status: str, item: Item, failure: Failure, end: str) -> None:
        if not log.isEnabledFor(level):
            return
        handler = self._name_of(item)
        # Not what the error said: it may hold what the message holds. `todoke events show` has it.
        log.log(
            level,
            "%s failed with %s: %s",
            handler,
            failure.code,
            end,
            extra={
                "message_id": str(item.message_id),
                "handler": handler,
                "status": status,
                "attempts": item.number,
                "error_code": failure.code,
            },
        )


def _sent(item: Item) -> Label:
    return Label("sent", item.context, item.type, item.handler)
