"""Where orders go: `broker.*` in todoke's settings, else `BROKER_*` in the environment."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from shop.settings import Section, is_loopback
from todoke import Settings

LONGEST = 60.0
"""No call may take longer. The handler's own limit is higher, so that a slow broker is named."""


@dataclass(frozen=True, kw_only=True)
class BrokerSettings:
    url: str = "http://127.0.0.1:8030"
    token: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    plain_http: bool = False
    connect_timeout: float = 3.0
    read_timeout: float = 10.0
    timeout: float = 15.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("broker.url is no address; write https://broker.example")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError(
                "broker.url has more than scheme, host and path; set broker.token to log in"
            )
        if parts.scheme == "http" and not self.plain_http and not is_loopback(parts.hostname):
            raise ValueError(
                "broker.url is plain http to another machine: orders could be read and changed"
                " on their way; write https://, or set broker.plain_http = true"
            )
        if self.token and not (self.token.isascii() and self.token.isprintable()):
            raise ValueError("broker.token holds what no header can; write letters and digits")
        if self.timeout > LONGEST:
            raise ValueError(f"broker.timeout is {self.timeout:g} s; write {LONGEST:g}s or less")

    @classmethod
    def read(cls, settings: Settings) -> Self:
        broker = Section(settings, "broker")
        return cls(
            url=broker.text("url") or cls.url,
            token=broker.text("token"),
            ca_file=broker.file("ca_file"),
            plain_http=broker.switch("plain_http"),
            connect_timeout=broker.seconds("connect_timeout", cls.connect_timeout),
            read_timeout=broker.seconds("read_timeout", cls.read_timeout),
            timeout=broker.seconds("timeout", cls.timeout),
        )
