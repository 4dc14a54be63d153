"""Text in Windows' Shift_JIS (cp932), as well as it can be said there.

Nothing fails for a name's sake. What has no sign becomes a geta mark, which Japanese printers put
where they have no type for a character; what cannot be seen is left out.
"""

import unicodedata
from collections.abc import Iterator

_CODEC = "cp932"
_GETA = "〓"
_VARIATION_SELECTORS = [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
_BLANKS = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
# The same signs by the numbers that Windows has for them; the Unicode tables disagree.
_AS_WINDOWS = (
    str.maketrans("〜−‖—¢£¬¥‾¦·‑‒–", "～－∥―￠￡￢￥￣￤・‐‐‐")
    | str.maketrans(dict.fromkeys(_BLANKS, " "))
    | dict.fromkeys(_VARIATION_SELECTORS)
)


def shift_jis(text: str) -> bytes:
    known = text.translate(_AS_WINDOWS)
    try:
        return known.encode(_CODEC)
    except UnicodeEncodeError:
        return "".join(_written(sign) for sign in _signs(known)).encode(_CODEC)


def _signs(text: str) -> Iterator[str]:
    """Each character together with the marks on it: か and its voicing are one sign."""
    sign = ""
    for character in text:
        if sign and not unicodedata.category(character).startswith("M"):
            yield sign
            sign = ""
        sign += character
    if sign:
        yield sign


def _written(sign: str) -> str:
    # Not composed where it need not be: that would put today's form of a character in the place
    # of the old one that somebody's name is written with.
    if _is_known(sign):
        return sign
    composed = unicodedata.normalize("NFC", sign)
    return "".join(one if _is_known(one) else _instead_of(one) for one in composed)


def _is_known(sign: str) -> bool:
    try:
        sign.encode(_CODEC)
    except UnicodeEncodeError:
        return False
    return True


def _instead_of(character: str) -> str:
    return "" if unicodedata.category(character) == "Cf" else _GETA
