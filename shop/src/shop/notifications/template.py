"""Mail templates: one file for each mail and language, with places like `{number}`.

They are read and checked when the program starts: a slip in one is no dead letter at night.
"""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from importlib.resources import files
from typing import Self, get_args

from shop.ordering.messages import Language
from shop.text import is_one_line
from todoke import PermanentError

FOLDER = files("shop.notifications") / "templates"
LANGUAGES: tuple[Language, ...] = get_args(Language)

_PLACE = re.compile(r"\{([a-z_]+)\}")
_FORM = re.compile(r"Subject: (?P<subject>\S.*)\n\n(?P<body>\S[\s\S]*)")


@dataclass(frozen=True)
class Wording:
    """What a mail says."""

    subject: str
    body: str


@dataclass(frozen=True)
class Template:
    """What a mail says, with places for what differs from one to the next."""

    subject: str
    body: str

    @classmethod
    def parse(cls, file: str, text: str, places: Set[str]) -> Self:
        """Refuse a text that is no mail, or whose places are not exactly these."""
        form = _FORM.fullmatch(text)
        if form is None:
            raise _wrong(file, "is no mail: write `Subject: …`, an empty line, and the body")
        if re.search(r"[{}]", _PLACE.sub("", text)):
            raise _wrong(file, "has a brace that is part of no place; write places as {number}")
        found = set(_PLACE.findall(text))
        if unknown := found - places:
            raise _wrong(file, f"has the unknown {_shown(unknown)}; known: {_shown(places)}")
        if missing := places - found:
            raise _wrong(file, f"lacks {_shown(missing)}; put each where the customer needs it")
        return cls(**form.groupdict())

    def fill(self, values: Mapping[str, str]) -> Wording:
        """Put each value into its place as it is; what looks like a place in it stays text."""
        for place, value in values.items():
            if not is_one_line(value):
                raise PermanentError(
                    f"{_shown([place])} of a mail holds a line break or control characters",
                    code="UNSAFE_TEXT",
                )

        def put(text: str) -> str:
            return _PLACE.sub(lambda place: values[place[1]], text)

        return Wording(put(self.subject), put(self.body))


def read(name: str, places: Set[str]) -> dict[Language, Template]:
    """The templates of one mail, in every language."""
    return {language: _read(f"{name}.{language}.txt", places) for language in LANGUAGES}


def _read(file: str, places: Set[str]) -> Template:
    try:
        text = (FOLDER / file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _wrong(file, f"is not there; write one in each of {', '.join(LANGUAGES)}") from None
    return Template.parse(file, text, places)


def _wrong(file: str, what: str) -> ValueError:
    return ValueError(f"mail template {file} {what}")


def _shown(places: Iterable[str]) -> str:
    return ", ".join(f"{{{place}}}" for place in sorted(places))
