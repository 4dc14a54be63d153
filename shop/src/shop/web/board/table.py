"""Tables and badges as markup. Cells are markup already: whoever makes one has escaped it."""

from collections.abc import Mapping, Sequence
from html import escape

_MARKS = {
    "RUNNING": "▶",
    "SUCCEEDED": "✓",
    "RAN": "✓",
    "LATE": "✓",
    "WAITING": "…",
    "FAILED": "✕",
    "MISSED": "✕",
    "SKIPPED": "↷",
}
_COLOURS = {
    "RUNNING": "going",
    "SUCCEEDED": "good",
    "RAN": "good",
    "LATE": "warning",
    "WAITING": "warning",
    "FAILED": "bad",
    "MISSED": "bad",
}


def table(name: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In a box of its own, which scrolls where the screen is narrow; the first cell names a row."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(_row(row) for row in rows)
    return (
        f'<div class="box" role="region" aria-labelledby="{name}-caption" tabindex="0">'
        f'<table id="{name}-table"><caption id="{name}-caption">{escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    rest = "".join(f"<td>{cell}</td>" for cell in others)
    return f'<tr><th scope="row">{first}</th>{rest}</tr>'


def badge(status: str, words: Mapping[str, str]) -> str:
    """Colour, sign and word: none of them has to be seen to know the others."""
    sign = f'<span aria-hidden="true">{_MARKS.get(status, "?")}</span>'
    colour = _COLOURS.get(status, "still")
    return f'<span class="badge {colour}">{sign} {escape(words.get(status, status))}</span>'


def quiet(text: str) -> str:
    return f'<span class="quiet">{escape(text)}</span>'
