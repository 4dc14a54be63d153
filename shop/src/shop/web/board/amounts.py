"""Numbers, moments and lengths of time as people read them; plain text, not yet escaped."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from shop.web.board.words import Words

NONE = "–"


def count(number: int | None) -> str:
    return NONE if number is None else f"{number:,}"


def share(processed: int | None, total: int | None, words: Words) -> str:
    if processed is None:
        return NONE
    if total is None:
        return count(processed)
    return words.share.format(processed=count(processed), total=count(total))


def moment(at: datetime | None, zone: str = "UTC") -> str:
    """To the second; in that zone, which is named."""
    return NONE if at is None else f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S %Z}"


def length(time: timedelta | None, words: Words) -> str:
    """Two units at most; a clock that ran ahead makes it no less than nothing."""
    if time is None:
        return NONE
    seconds = max(time.total_seconds(), 0)
    if seconds < 10:
        return words.seconds.format(f"{seconds:.1f}")
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = (words.days, words.hours, words.minutes, words.seconds)
    parts = list(zip((days, hours, minutes, rest), units, strict=True))
    first = next(place for place, (number, _) in enumerate(parts) if number)
    return " ".join(unit.format(number) for number, unit in parts[first : first + 2] if number)
