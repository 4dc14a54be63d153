"""Handing mail to an SMTP server."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path

import aiosmtplib

from shop.notifications.context import notifications
from shop.notifications.smtp_errors import failure
from shop.notifications.smtp_settings import SmtpSettings
from todoke import Settings

# Less than the handler's own limit, so that a slow server is named as such.
_LIMIT = 15.0


class Mailer:
    """Sends each mail over a connection of its own: nothing to go stale between two mails."""

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings
        self._tls = _tls(settings.ca_file) if settings.starttls else None

    @property
    def sender(self) -> str:
        return self._settings.sender

    @property
    def host(self) -> str:
        return self._settings.host

    async def send(self, mail: EmailMessage) -> None:
        """Return once the server has taken the mail; raise a classified error otherwise."""
        try:
            async with asyncio.timeout(_LIMIT):
                await self._hand_over(mail)
            return
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            failed = failure(error)
        # Raised here, not in the clause above: a chained SMTP error would carry the recipient.
        raise failed

    async def _hand_over(self, mail: EmailMessage) -> None:
        settings = self._settings
        await aiosmtplib.send(
            mail,
            hostname=settings.host,
            port=settings.port,
            username=settings.username,
            password=settings.password,
            start_tls=settings.starttls,
            tls_context=self._tls,
            local_hostname=settings.sender.rpartition("@")[2],
            timeout=_LIMIT,
        )


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


@notifications.provide
async def mailer(settings: Settings) -> AsyncIterator[Mailer]:
    yield Mailer(SmtpSettings.read(settings))
