"""The mails that were caught: the last few, in memory."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock


@dataclass(frozen=True)
class CaughtMail:
    id: int
    sender: str
    recipients: tuple[str, ...]
    received_at: datetime
    raw: bytes


class Mailbox:
    """Keeps the newest mails; SMTP and web threads share it."""

    def __init__(self, most: int = 500) -> None:
        self._mails: deque[CaughtMail] = deque(maxlen=most)
        self._last_id = 0
        self._lock = Lock()

    def put(self, sender: str, recipients: Sequence[str], raw: bytes) -> CaughtMail:
        with self._lock:
            self._last_id += 1
            mail = CaughtMail(self._last_id, sender, tuple(recipients), datetime.now(UTC), raw)
            self._mails.append(mail)
        return mail

    def newest_first(self) -> list[CaughtMail]:
        with self._lock:
            return list(reversed(self._mails))

    def get(self, mail_id: int) -> CaughtMail | None:
        return next((mail for mail in self.newest_first() if mail.id == mail_id), None)

    def clear(self) -> None:
        with self._lock:
            self._mails.clear()
