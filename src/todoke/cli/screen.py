"""What people see: plain text for a pipe, colours and the terminal's width for a person.

Names, keys and errors come from messages, so nothing of them may reach the terminal as markup or
as a control sequence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

# Control characters but tab and newline; those that turn the direction of writing; odd newlines.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_NARROWEST = 6

STYLES = {
    "PENDING": "yellow",
    "PROCESSING": "cyan",
    "PROCESSED": "green",
    "DEAD": "red",
    "CANCELLED": "magenta",
    "RUNNING": "cyan",
    "SUCCEEDED": "green",
    "FAILED": "red",
    "SKIPPED": "magenta",
    "accepted": "yellow",
    "succeeded": "green",
    "failed": "red",
    "redriven": "green",
    "resolved": "green",
}

Cell = str | Text


def console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def say(*lines: Cell) -> None:
    screen = console()
    for line in lines:
        screen.print(line)


def complain(text: str) -> None:
    """One red line on stderr."""
    console(stderr=True).print(Text(f"Error: {one_line(text)}", style="red"))


def note(text: str) -> None:
    """A line on stderr, so that stdout holds only what was asked for."""
    console(stderr=True).print(Text(one_line(text), style="dim"))


def say_json(data: object, *, indent: int | None = 2) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=indent, default=_plain)
    print(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text), flush=True)


def safe(text: str) -> str:
    """The text with characters that would steer a terminal made visible."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    return safe(" ".join(text.split()))


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], shrink: Sequence[str]
) -> list[Text]:
    """Aligned columns; on a terminal those named in `shrink` give way until the lines fit."""
    cells = [[Text(head, style="dim") for head in heads]]
    cells += [[_cell(cell) for cell in row] for row in rows]
    widths = [max(cell_len(row[column].plain) for row in cells) for column in range(len(heads))]
    screen = console()
    if screen.is_terminal:
        _shrink(widths, [heads.index(head) for head in shrink], screen.width)
    return [_line(row, widths) for row in cells]


def facts(pairs: Mapping[str, Cell | None]) -> list[Text]:
    """Names and values below each other; what is None is left out."""
    told = {name: _cell(value) for name, value in pairs.items() if value not in (None, "")}
    width = max(map(len, told), default=0) + 2
    return [Text(name.ljust(width), style="dim") + value for name, value in told.items()]


def block(head: str, text: str) -> list[Text]:
    """A heading and its text, indented."""
    body = [Text("  " + line) for line in safe(text.rstrip()).split("\n")]
    return [Text(""), Text(one_line(head), style="bold"), *body]


def fitting(text: str, indent: int) -> Text:
    """One line, cut at the terminal's edge."""
    line, screen = " " * indent + one_line(text), console()
    return Text(_cut(line, screen.width) if screen.is_terminal else line, style="dim")


def status(word: str) -> Text:
    return Text(word, style=STYLES.get(word, ""))


def moment(when: datetime | None) -> str | None:
    return None if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def length(time: timedelta) -> str:
    """A length of time as people say it: 3s, 5m, 2h, 4d."""
    seconds = max(0.0, time.total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _cell(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(one_line(cell))


def _line(row: Iterable[Text], widths: Sequence[int]) -> Text:
    line = Text("  ").join(
        Text(set_cell_size(_cut(cell.plain, width), width), style=cell.style)
        for cell, width in zip(row, widths, strict=True)
    )
    line.rstrip()
    return line


def _shrink(widths: list[int], columns: Sequence[int], room: int) -> None:
    excess = sum(widths) + 2 * (len(widths) - 1) - room
    for _ in range(max(0, excess)):
        widest = max(columns, key=lambda column: widths[column])
        if widths[widest] <= _NARROWEST:
            return
        widths[widest] -= 1


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
    return str(value)
