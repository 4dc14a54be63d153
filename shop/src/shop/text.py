"""What the shop takes for one line of text, and for an e-mail address."""

import re
import unicodedata

# Control characters, lone surrogates, line and paragraph separators.
_NOT_IN_A_LINE = {"Cc", "Cs", "Zl", "Zp"}

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(
    rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+"
    r"[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
)


def is_one_line(text: str) -> bool:
    return not any(unicodedata.category(character) in _NOT_IN_A_LINE for character in text)


def is_address(text: str) -> bool:
    """Whether mail can be sent there: the rule of HTML's e-mail field, with a domain of two parts.

    Dots stand only between other characters, or no mail can be written to it. `=?` is refused
    although the rule allows it: it begins an encoded word, and mail software decodes those, line
    breaks included.
    """
    return len(text) <= 254 and "=?" not in text and _ADDRESS.fullmatch(text) is not None
