"""Where mail goes: `mail.*` in todoke's settings, else `MAIL_*` in the environment."""

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from shop.text import is_address
from todoke import Settings

_SWITCH = {"true": True, "1": True, "yes": True, "on": True}
_SWITCH |= {"false": False, "0": False, "no": False, "off": False}


@dataclass(frozen=True, kw_only=True)
class SmtpSettings:
    host: str = "localhost"
    port: int = 1025
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    starttls: bool = False
    ca_file: Path | None = None
    sender: str = "shop@shop.example"

    def __post_init__(self) -> None:
        if not is_address(self.sender):
            raise ValueError(f"mail.from is {self.sender!r}, which is no mail address")
        if self.username and not self.starttls and not _is_loopback(self.host):
            raise ValueError(
                "mail.username without mail.starttls would send the password in the clear;"
                " set mail.starttls = true"
            )

    @classmethod
    def read(cls, settings: Settings) -> Self:
        ca_file = _read(settings, "ca_file")
        return cls(
            host=_read(settings, "host") or cls.host,
            port=_port(_read(settings, "port") or str(cls.port)),
            username=_read(settings, "username"),
            password=_read(settings, "password"),
            starttls=_switch(_read(settings, "starttls") or "false"),
            ca_file=Path(ca_file) if ca_file else None,
            sender=_read(settings, "from") or cls.sender,
        )


def _read(settings: Settings, name: str) -> str | None:
    said = settings.get(f"mail.{name}", None)
    if said is None:
        said = os.environ.get(f"MAIL_{name.upper()}")
    return None if said is None or str(said) == "" else str(said)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ValueError(f"mail.port is {text!r}; write a number from 1 to 65535")
    return int(text)


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise ValueError(f"mail.starttls is {text!r}; write true or false")
    return _SWITCH[text.lower()]


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
