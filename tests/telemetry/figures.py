"""What was counted, short enough to be compared."""

from __future__ import annotations

from todoke import Todoke

Figures = dict[tuple[str, ...], int]


def figures(app: Todoke) -> Figures:
    """Totals by what was counted, type, and handler and error code where there are any."""
    return {
        (one.counted, one.type, *filter(None, (one.handler, one.code))): one.total
        for one in app.metrics.counts()
    }
