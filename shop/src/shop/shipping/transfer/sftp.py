"""Files go to an SFTP server that is known by its key."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncssh

from shop.shipping.transfer.sftp_errors import (
    classified,
    failure,
    host_key_changed,
    not_reached,
)
from shop.shipping.transfer.sftp_place import SftpPlace
from shop.shipping.transfer.sftp_settings import SftpSettings

# What asyncssh still offers by itself, but nobody should take: SHA-1, and RSA key exchange.
_KEY_EXCHANGES = "-*sha1*,rsa*"
_SIGNATURES = "-ssh-rsa*"
_MACS = [
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "hmac-sha2-256",
    "hmac-sha2-512",
]
_RSA = ["rsa-sha2-512", "rsa-sha2-256"]
_PROOFS = [
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    *_RSA,
]
_PATIENCE_WITH_GOODBYES = 2.0


class SftpTransfer:
    """Opens a connection of its own each time: nothing to go stale between two files."""

    def __init__(self, settings: SftpSettings) -> None:
        self._settings = settings

    @property
    def where(self) -> str:
        settings = self._settings
        return f"{settings.folder} at sftp://{settings.host}:{settings.port}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[SftpPlace]:
        line = await self._connect()
        try:
            with classified(self._settings):
                async with asyncio.timeout(self._settings.timeout):
                    place = SftpPlace(await line.start_sftp_client(), self._settings, self.where)
                    await place.check_folder()
            yield place
        finally:
            await _hang_up(line)

    async def _connect(self) -> asyncssh.SSHClientConnection:
        watch = _Watch()
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await asyncssh.connect(
                    self._settings.host,
                    self._settings.port,
                    client_factory=lambda: watch,
                    options=_options(self._settings),
                )
        except asyncssh.HostKeyNotVerifiable as error:
            raise host_key_changed(self._settings, watch.offered) from error
        except asyncssh.KeyExchangeFailed as error:
            if "host key" in error.reason:
                raise host_key_changed(self._settings, None) from error
            raise failure(error, self._settings) from error
        except (asyncssh.Error, TimeoutError) as error:
            raise failure(error, self._settings) from error
        except OSError as error:
            raise not_reached(error, self._settings) from error


class _Watch(asyncssh.SSHClient):
    """Trusts no key beyond the pinned ones, and remembers which it was shown."""

    offered: asyncssh.SSHKey | None = None

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        self.offered = key
        return False


def _options(settings: SftpSettings) -> asyncssh.SSHClientConnectionOptions:
    return asyncssh.SSHClientConnectionOptions(
        config=None,
        known_hosts=([*settings.pinned], [], []),
        server_host_key_algs=_proofs(settings.pinned),
        x509_trusted_certs=None,
        username=settings.username,
        client_keys=[settings.client],
        preferred_auth="publickey",
        password_auth=False,
        kbdint_auth=False,
        host_based_auth=False,
        gss_auth=False,
        gss_kex=False,
        agent_path=None,
        agent_forwarding=False,
        kex_algs=_KEY_EXCHANGES,
        signature_algs=_SIGNATURES,
        mac_algs=_MACS,
        compression_algs=None,
        login_timeout=0,
        keepalive_interval=settings.timeout / 2,
        keepalive_count_max=2,
    )


def _proofs(pinned: tuple[asyncssh.SSHKey, ...]) -> list[str]:
    """How the server may prove who it is: those of the pinned keys first; with RSA, not by SHA-1.

    The others are asked for, too, so that a server with a key of another kind shows it, and can be
    told from a line that was cut.
    """
    kinds = dict.fromkeys(key.get_algorithm() for key in pinned)
    wanted = [proof for kind in kinds for proof in (_RSA if kind == "ssh-rsa" else [kind])]
    return [*wanted, *(proof for proof in _PROOFS if proof not in wanted)]


async def _hang_up(line: asyncssh.SSHClientConnection) -> None:
    line.close()
    try:
        async with asyncio.timeout(_PATIENCE_WITH_GOODBYES):
            await line.wait_closed()
    except TimeoutError:
        line.abort()
