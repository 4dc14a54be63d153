"""Giving account of what was written: in the counters, and in the log where something failed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

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

    def of_written(self, settlements: Sequence[Settlement]) -> None:
        """Each of them once, when its transaction is committed; none that was fenced."""
        labels = [_sent(one.item) for one in settlements if type(one) is Processed and one.handled]
        for one in settlements:
            if type(one) is Later and one.failure is not None:
                labels.append(self._failed("failed", one.item, one.failure))
                self._tell(logging.WARNING, "PENDING", one, one.failure)
            elif type(one) is Dead:
                labels.append(self._failed("aborted", one.item, one.failure))
                self._tell(logging.ERROR, "DEAD", one, one.failure)
        self._tally.add(labels)

    def _failed(self, counted: Counted, item: Item, failure: Failure) -> Label:
        return counted, item.context, item.type, item.handler, self._tally.code(failure.code)

    def _tell(self, level: int, status: str, settlement: Later | Dead, failure: Failure) -> None:
        item, handler = settlement.item, self._name_of(settlement.item)
        again = isinstance(settlement, Later) and f"again in {settlement.seconds:g} s"
        # Not what the error said: it may hold what the message holds. `todoke events show` has it.
        log.log(
            level,
            "%s failed with %s: %s",
            handler,
            failure.code,
            again or "given up",
            extra={
                "message_id": str(item.message_id),
                "handler": handler,
                "status": status,
                "attempts": item.number,
                "error_code": failure.code,
            },
        )


def _sent(item: Item) -> Label:
    return "sent", item.context, item.type, item.handler, ""
