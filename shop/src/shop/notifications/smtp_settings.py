"""Where mail goes: `mail.*` in todoke's settings, else `MAIL_*` in the environment."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from shop.settings import Section, is_loopback
from shop.text import is_address
from todoke import Settings


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
        if self.username and not self.starttls and not is_loopback(self.host):
            raise ValueError(
                "mail.username without mail.starttls would send the password in the clear;"
                " set mail.starttls = true"
            )

    @classmethod
    def read(cls, settings: Settings) -> Self:
        mail = Section(settings, "mail")
        return cls(
            host=mail.text("host") or cls.host,
            port=mail.port("port", cls.port),
            username=mail.text("username"),
            password=mail.text("password"),
            starttls=mail.switch("starttls"),
            ca_file=mail.file("ca_file"),
            sender=mail.text("from") or cls.sender,
        )
