"""The SMTP side of the catcher; it can be told to refuse mail, as real servers do."""

import asyncio
import socket
from collections.abc import Callable
from threading import Lock
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from shop.listener import listener
from shop.mailbox.mailbox import CaughtMail, Mailbox

LARGEST_MAIL = 1024 * 1024


class Refusals:
    """What to answer instead of "250": a code, for so many mails or for all."""

    def __init__(self) -> None:
        self._code: int | None = None
        self._left: int | None = None
        self._lock = Lock()
        self.given = 0

    def set(self, code: int | None, times: int | None = None) -> None:
        with self._lock:
            self._code, self._left = code, times

    def next(self) -> int | None:
        with self._lock:
            if self._code is None or self._left == 0:
                return None
            if self._left is not None:
                self._left -= 1
            self.given += 1
            return self._code


class MailServer(Controller):
    """An SMTP server in a thread of its own, at a free port, a wanted one, or a `bound` socket.

    `refuse_with(451, times=2)` makes it refuse the next two mails; `on_mail` is called with each
    mail that was kept, before the client hears of it.
    """

    def __init__(
        self,
        mailbox: Mailbox | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        bound: socket.socket | None = None,
        on_mail: Callable[[CaughtMail], None] | None = None,
        **smtp_options: Any,
    ) -> None:
        self.mailbox = mailbox or Mailbox()
        self.on_mail = on_mail
        self._refusals = Refusals()
        self._socket = bound or listener(host, port)
        super().__init__(
            self,
            hostname=host,
            port=self._socket.getsockname()[1],
            data_size_limit=LARGEST_MAIL,
            ident="shop mail catcher",
            **smtp_options,
        )

    @property
    def refused(self) -> int:
        """How many mails were refused so far."""
        return self._refusals.given

    def refuse_with(self, code: int | None, times: int | None = None) -> None:
        self._refusals.set(code, times)

    def stop(self, no_assert: bool = False) -> None:
        """Stop listening; safe to repeat."""
        if self._thread is not None:
            super().stop(no_assert)

    async def handle_DATA(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        code = self._refusals.next()
        if code is not None:
            to = ", ".join(envelope.rcpt_tos)
            return f"{code} {code // 100}.3.0 <{to}> refused, as asked"
        content = envelope.original_content or b""
        mail = self.mailbox.put(envelope.mail_from or "", envelope.rcpt_tos, content)
        if self.on_mail is not None:
            self.on_mail(mail)
        return f"250 2.0.0 kept as {mail.id}"

    def _create_server(self) -> "asyncio.Future[asyncio.AbstractServer]":
        return self.loop.create_server(self._factory_invoker, sock=self._socket)  # type: ignore[return-value]
