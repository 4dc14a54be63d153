"""What the shop's pages for people share: their frame, headers, language and colours."""

from html import escape
from importlib.resources import files
from typing import Protocol

from fastapi import Response
from fastapi.responses import HTMLResponse

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

EVERY = 5
"""Seconds after which a page looks again."""


class Speech(Protocol):
    """Words in one language, and the way to the other."""

    @property
    def language(self) -> str: ...
    @property
    def other_language(self) -> str: ...
    @property
    def other_name(self) -> str: ...


def language_for(asked: str | None, accepted: str) -> str:
    """The language asked for, else the browser's first of the two."""
    if asked is None:
        offered = [part.strip()[:2].lower() for part in accepted.split(",")]
        asked = next((language for language in offered if language in ("en", "ja")), "en")
    return "ja" if asked == "ja" else "en"


def html(page: str, status: int = 200) -> Response:
    return HTMLResponse(page, status, headers=HEADERS)


def style(package: str) -> Response:
    """The shared style sheet, and behind it that of a package."""
    sheets = (files("shop") / "html_page.css", files(package) / "style.css")
    css = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    return Response(css, media_type="text/css", headers=HEADERS)


def frame(title: str, header: str, content: str, *, language: str, css: str, refresh: bool) -> str:
    """A whole page; `header` and `content` are markup, so their author has escaped them."""
    again = f'<meta http-equiv="refresh" content="{EVERY}">' if refresh else ""
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{again}<title>{escape(title)}</title>"
        f'<link rel="stylesheet" href="{escape(css)}"></head><body>'
        f"<header>{header}</header><main>{content}</main></body></html>"
    )


def other_language(words: Speech, address: str) -> str:
    """The link to the same page in the other language."""
    return (
        f'<a lang="{words.other_language}" href="{escape(address)}">{escape(words.other_name)}</a>'
    )
