"""Where files are sent by SFTP: `jobs.sftp.*` in todoke's settings, else `JOBS_SFTP_*`."""

import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import asyncssh

from shop.settings import Section
from todoke import Settings

SECTION = "jobs.sftp"


@dataclass(frozen=True, kw_only=True)
class SftpSettings:
    """Both keys are read when it is made, so what is wrong with them stops the start."""

    host: str
    port: int = 22
    username: str
    private_key: Path
    passphrase: str | None = field(default=None, repr=False)
    host_key: str
    """The server's public key as OpenSSH writes it; several are separated by newlines."""
    folder: str = "."
    timeout: float = 30.0
    """Seconds without any progress after which the line is given up."""
    client: asyncssh.SSHKey = field(init=False, repr=False, compare=False)
    pinned: tuple[asyncssh.SSHKey, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "client", _client_key(self.private_key, self.passphrase))
        object.__setattr__(self, "pinned", _host_keys(self.host_key))

    @classmethod
    def read(cls, settings: Settings) -> Self:
        sftp = Section(settings, SECTION)
        return cls(
            host=sftp.needed("host", "write the server's name or address"),
            port=sftp.port("port", cls.port),
            username=sftp.needed("username", "write whom the server knows us as"),
            private_key=Path(
                sftp.needed("private_key", "write the file of the key that we log in with")
            ),
            passphrase=sftp.text("passphrase"),
            host_key=_pinned_text(sftp),
            folder=sftp.text("folder") or cls.folder,
            timeout=sftp.seconds("timeout", cls.timeout),
        )


def _pinned_text(sftp: Section) -> str:
    file = sftp.file("host_key_file")
    if file is None:
        remedy = 'write the server\'s public key, such as "ssh-ed25519 AAAA…", or name its file by'
        return sftp.needed("host_key", f"{remedy} {SECTION}.host_key_file")
    if sftp.text("host_key"):
        raise ValueError(f"{SECTION}.host_key and {SECTION}.host_key_file are both set; keep one")
    return _text_of(file, "host_key_file")


def _host_keys(text: str) -> tuple[asyncssh.SSHKey, ...]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    try:
        keys = tuple(asyncssh.import_public_key(line.strip()) for line in lines)
    except asyncssh.KeyImportError:
        keys = ()
    if not keys:
        raise ValueError(
            f"{SECTION}.host_key holds no public key; write each on a line of its own, as"
            ' /etc/ssh/ssh_host_ed25519_key.pub has it: "ssh-ed25519 AAAA…"'
        )
    return keys


def _client_key(file: Path, passphrase: str | None) -> asyncssh.SSHKey:
    text = _text_of(file, "private_key")
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise ValueError(
            f"{SECTION}.private_key is {str(file)!r}, which others than its owner may use;"
            f" chmod 600 it"
        )
    try:
        return asyncssh.import_private_key(text, passphrase)
    except asyncssh.KeyEncryptionError as error:
        # Its text says what is missing here, such as bcrypt; none of it comes from the file.
        raise ValueError(
            f"{SECTION}.passphrase does not open {str(file)!r} ({error}); write the right one"
        ) from error
    except asyncssh.KeyImportError as error:
        raise ValueError(
            f"{SECTION}.private_key is {str(file)!r}, which cannot be read as a private key"
            f" ({error}); write a key's file, and {SECTION}.passphrase if it has one"
        ) from error


def _text_of(file: Path, name: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{SECTION}.{name} is {str(file)!r}, which cannot be read ({type(error).__name__});"
            " write the name of a file that this process may read"
        ) from error
