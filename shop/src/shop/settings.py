"""What the shop is told about others: `mail.host` in todoke's settings, else `MAIL_HOST`."""

import os
from ipaddress import ip_address
from pathlib import Path

from todoke import Settings

_SWITCH = {"true": True, "1": True, "yes": True, "on": True}
_SWITCH |= {"false": False, "0": False, "no": False, "off": False}


class Section:
    """The settings whose names begin alike; what is empty was not said."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._name = name

    def text(self, name: str) -> str | None:
        said = self._settings.get(f"{self._name}.{name}", None)
        if said is None:
            said = os.environ.get(_variable(f"{self._name}.{name}"))
        return None if said is None or str(said) == "" else str(said)

    def needed(self, name: str, remedy: str) -> str:
        text = self.text(name)
        if text is None:
            raise ValueError(f"{self._name}.{name} is missing; {remedy}")
        return text

    def port(self, name: str, otherwise: int) -> int:
        return self.number(name, otherwise, most=65535)

    def number(self, name: str, otherwise: int, *, most: int) -> int:
        text = self.text(name) or str(otherwise)
        if not (text.isdecimal() and text.isascii()) or not 0 < int(text) <= most:
            raise self._wrong(name, text, f"write a number from 1 to {most}")
        return int(text)

    def seconds(self, name: str, otherwise: float) -> float:
        text = self.text(name) or str(otherwise)
        try:
            seconds = float(text.removesuffix("s"))
        except ValueError:
            seconds = 0
        if not 0 < seconds <= 600:
            raise self._wrong(name, text, 'write seconds, at most 600, such as "2.5s"')
        return seconds

    def switch(self, name: str) -> bool:
        text = self.text(name) or "false"
        if text.lower() not in _SWITCH:
            raise self._wrong(name, text, "write true or false")
        return _SWITCH[text.lower()]

    def file(self, name: str) -> Path | None:
        text = self.text(name)
        return Path(text) if text else None

    def _wrong(self, name: str, text: str, remedy: str) -> ValueError:
        return ValueError(f"{self._name}.{name} is {text!r}; {remedy}")


def _variable(name: str) -> str:
    return name.replace(".", "_").replace("-", "_").upper()


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
