"""How a reader wants the board; every link on it keeps to that."""

from dataclasses import dataclass, replace
from html import escape
from urllib.parse import urlencode

from shop.web.board.words import Words


@dataclass(frozen=True)
class View:
    words: Words
    job: str | None
    """Only runs of this job."""
    refreshes: bool

    def of_job(self, job: str | None) -> "View":
        return replace(self, job=job)

    def turned(self) -> "View":
        """The same with refreshing turned off, or on again."""
        return replace(self, refreshes=not self.refreshes)

    def address(self, language: str | None = None) -> str:
        asked = {"lang": language or self.words.language}
        if self.job is not None:
            asked["job"] = self.job
        if not self.refreshes:
            asked["refresh"] = "off"
        return f"/jobs?{urlencode(asked)}"

    def link(self, text: str) -> str:
        return f'<a href="{escape(self.address())}">{escape(text)}</a>'
