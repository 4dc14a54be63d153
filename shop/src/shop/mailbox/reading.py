"""What a caught mail says. Anybody may send anything here, so nothing is taken for granted."""

from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from shop.mailbox.mailbox import CaughtMail


@dataclass(frozen=True)
class Letter:
    subject: str
    sender: str
    recipient: str
    message_id: str
    date: str
    text: str
    attachments: tuple[str, ...]


def read(mail: CaughtMail) -> Letter:
    message = message_from_bytes(mail.raw, policy=default)
    return Letter(
        subject=_header(message, "Subject"),
        sender=_header(message, "From"),
        recipient=_header(message, "To"),
        message_id=_header(message, "Message-ID"),
        date=_header(message, "Date"),
        text=_text(message),
        attachments=_attachments(message),
    )


def _header(message: EmailMessage, name: str) -> str:
    # The parser raises whatever it stumbles over (IndexError, AttributeError and more).
    try:
        return _writable(str(message.get(name, "")))
    except Exception:
        return "?"


def _text(message: EmailMessage) -> str:
    """The plain text; an HTML mail is shown as its source, never rendered."""
    try:
        body = message.get_body(("plain", "html"))
        text = "" if body is None else str(body.get_content())
        return _writable(text).replace("\r\n", "\n")
    except Exception:
        return _writable(message.as_bytes().decode("ascii", "replace"))


def _attachments(message: EmailMessage) -> tuple[str, ...]:
    try:
        return tuple(_writable(part.get_filename("?")) for part in message.iter_attachments())
    except Exception:
        return ("?",)


def _writable(text: str) -> str:
    """Bytes that were no text stand in a str as surrogates, which cannot be written out again."""
    return text.encode("utf-8", "replace").decode()
