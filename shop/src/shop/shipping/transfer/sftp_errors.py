"""What an SFTP failure means: try again, or give up. Quotes nothing that the server has said."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncssh

from shop.shipping.transfer.sftp_settings import SECTION, SftpSettings
from todoke import PermanentError, TransientError


@contextmanager
def classified(settings: SftpSettings) -> Iterator[None]:
    """For what happens on an open line; failures to read our own file are left as they are."""
    try:
        yield
    except (asyncssh.Error, ConnectionError, TimeoutError) as error:
        raise failure(error, settings) from error


def failure(error: Exception, settings: SftpSettings) -> TransientError | PermanentError:
    """The error to raise instead."""
    server = f"the SFTP server {settings.host}:{settings.port}"
    match error:
        case TimeoutError():
            text = f"{server} made no progress for {settings.timeout:g} s"
            return TransientError(text, code="SFTP_TIMEOUT")
        case asyncssh.PermissionDenied():
            return _login_refused(server, settings)
        case asyncssh.SFTPPermissionDenied() | asyncssh.SFTPWriteProtect():
            return _denied(server, settings)
        case (
            asyncssh.SFTPConnectionLost()
            | asyncssh.SFTPNoConnection()
            | asyncssh.ConnectionLost()
            | ConnectionError()
        ):
            return TransientError(f"the line to {server} was cut off", code="SFTP_CUT_OFF")
        case _:
            return _failed(server, error)


def not_reached(error: OSError, settings: SftpSettings) -> TransientError:
    return TransientError(
        f"the SFTP server {settings.host}:{settings.port} was not reached ({type(error).__name__})",
        code="SFTP_UNREACHABLE",
    )


def no_folder(settings: SftpSettings) -> PermanentError:
    return PermanentError(
        f"{settings.folder!r} of the SFTP server {settings.host}:{settings.port} is no folder; have"
        f" it made, or correct {SECTION}.folder",
        code="SFTP_NO_FOLDER",
    )


def host_key_changed(settings: SftpSettings, offered: asyncssh.SSHKey | None) -> PermanentError:
    pinned = ", ".join(key.get_fingerprint() for key in settings.pinned)
    shown = f"shows {offered.get_fingerprint()}" if offered else "has no key of that kind"
    return PermanentError(
        f"the SFTP server {settings.host}:{settings.port} {shown}, but {SECTION}.host_key pins"
        f" {pinned}; nothing was sent. Somebody may be in between: ask the server's operator, by"
        f" another way, for the key. Only if it was changed there, change {SECTION}.host_key",
        code="SFTP_HOST_KEY_CHANGED",
    )


def wrong_size(name: str, size: int, expected: int, settings: SftpSettings) -> TransientError:
    return TransientError(
        f"{name} has {size} bytes at the SFTP server {settings.host}:{settings.port}, and"
        f" {expected} here; the next attempt compares, and begins anew if it must",
        code="SFTP_FAILED",
    )


def _login_refused(server: str, settings: SftpSettings) -> PermanentError:
    mine = settings.client.get_fingerprint()
    return PermanentError(
        f"{server} does not let {settings.username} in with the key {mine}; have its operator"
        f" allow the key, or correct {SECTION}.username and {SECTION}.private_key",
        code="SFTP_LOGIN_REFUSED",
    )


def _denied(server: str, settings: SftpSettings) -> PermanentError:
    return PermanentError(
        f"{settings.folder!r} of {server} may not be used by {settings.username}; have its operator"
        " allow it",
        code="SFTP_DENIED",
    )


def _failed(server: str, error: Exception) -> TransientError:
    text = f"{server} failed ({type(error).__name__}); is there space left on it?"
    return TransientError(text, code="SFTP_FAILED")
