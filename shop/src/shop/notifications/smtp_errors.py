"""What an SMTP failure means: try again, or give up. Never says to whom the mail was going."""

import re
import ssl

import aiosmtplib

from todoke import PermanentError, TransientError

_ENHANCED_CODE = re.compile(r"\b[245]\.\d{1,3}\.\d{1,3}\b")


def failure(error: Exception) -> TransientError | PermanentError:
    """The error to raise instead; servers like to quote the address in their reply."""
    match error:
        case aiosmtplib.SMTPRecipientsRefused(recipients=[first, *_]):
            return failure(first)
        case aiosmtplib.SMTPResponseException():
            return _refusal(error.code, error.message)
        case TimeoutError():
            return TransientError("the mail server did not answer in time", code="SMTP_TIMEOUT")
        case ssl.SSLError():
            return TransientError("the mail server's certificate is not trusted", code="SMTP_TLS")
        case OSError():
            return TransientError("the mail server was not reached", code="SMTP_UNREACHABLE")
        case _:
            return PermanentError(
                f"the mail could not be handed over ({type(error).__name__});"
                " does the server offer what mail.* asks for?",
                code="SMTP_NOT_SUPPORTED",
            )


def _refusal(code: int, reply: str) -> TransientError | PermanentError:
    enhanced = _ENHANCED_CODE.search(reply)
    said = f"{code} {enhanced.group()}" if enhanced else str(code)
    kind = PermanentError if 500 <= code < 600 else TransientError
    return kind(f"the mail server answered {said}", code=f"SMTP_{code}")
