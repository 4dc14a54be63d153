"""Composing a mail whose headers say what we wrote and nothing else.

Python's parser decodes encoded words inside a header value, and before 3.12.5 an encoded line
break then came out as a real one: `=?utf-8?q?=0ABcc:...?=` in a subject added a header. So values
are checked before and after decoding.
"""

from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import sha256

from shop.ordering.messages import Language
from shop.text import is_address, is_one_line
from todoke import PermanentError


def compose(
    *,
    sender: str,
    recipient: str,
    subject: str,
    body: str,
    language: Language,
    key: str,
    written_at: datetime,
) -> EmailMessage:
    """A mail that is the same, byte for byte, whenever it is composed for the same key."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = _address(sender)
    mail["To"] = _address(recipient)
    mail["Subject"] = _one_line(subject)
    mail["Date"] = format_datetime(written_at)
    mail["Message-ID"] = message_id(key, sender)
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(body, cte="base64")
    # After the content: setting that removes every header called Content-….
    mail["Content-Language"] = language
    return mail


def message_id(key: str, sender: str) -> str:
    """The same for every copy of one mail, so that mail software can tell a copy."""
    domain = sender.rpartition("@")[2]
    return f"<{sha256(key.encode()).hexdigest()[:32]}@{domain}>"


def _address(text: str) -> Address:
    if not is_address(text):
        raise PermanentError("the mail address is not one", code="BAD_ADDRESS")
    return Address(addr_spec=text)


def _one_line(text: str) -> str:
    if not is_one_line(text) or not is_one_line(SMTP.header_factory("Subject", text)):
        raise PermanentError("a mail header holds control characters", code="UNSAFE_HEADER")
    return text
