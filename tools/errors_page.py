"""Writes the part of docs/errors.md that stands in the error tree; the rest is written by hand.

python tools/errors_page.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from todoke.errors import TodokeError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
BEGIN, END = (
    "<!-- from src/todoke/errors.py: begin -->\n",
    "<!-- from src/todoke/errors.py: end -->\n",
)


def page(text: str) -> str:
    """The page with tree and table as the classes say it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    tree = "\n".join(name for name, _ in drawing())
    return f"{before}{BEGIN}\n```\n{tree}\n```\n\n{table()}\n{END}{after}"


MODULES = ("todoke.errors", "todoke.job_errors")


def drawing() -> list[tuple[str, str]]:
    """The tree, a line for each class, with what it means beside it."""
    return [("TodokeError", ""), *_branches(TodokeError, "")]


def table() -> str:
    rows = [f"| `{one.__name__}` | {one.when} | {one.remedy} |" for one in _below(TodokeError)]
    return "\n".join(["| error | when | what to do |", "|---|---|---|", *rows])


def _branches(of: type[TodokeError], indent: str) -> Iterator[tuple[str, str]]:
    *others, last = _children(of)
    for one in (*others, last):
        corner, below = ("└── ", "    ") if one is last else ("├── ", "│   ")
        yield f"{indent}{corner}{one.__name__}", _meaning(one)
        if _children(one):
            yield from _branches(one, indent + below)


def _below(of: type[TodokeError]) -> Iterator[type[TodokeError]]:
    for one in _children(of):
        yield one
        yield from _below(one)


def _children(of: type[TodokeError]) -> list[type[TodokeError]]:
    """Those of the tree, in the order in which it declares them; other modules may add theirs."""
    found = [one for one in of.__subclasses__() if one.__module__ in MODULES]
    return sorted(found, key=lambda one: MODULES.index(one.__module__))


def _meaning(one: type[TodokeError]) -> str:
    words = (one.__doc__ or "").partition("\n")[0].rstrip(".")
    return words[:1].lower() + words[1:]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
