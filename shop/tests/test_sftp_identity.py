"""Files are sent to the server that is meant, and to no other."""

from pathlib import Path

import asyncssh
import pytest
from tests.servers.sftp_sender import fails, fails_for_good, send
from tests.servers.sftp_server import SftpServer, refusing


async def test_a_changed_host_key_is_refused_and_named_beside_the_pinned_one(
    sftp: SftpServer, file: Path
) -> None:
    """S15: neither the file nor our name was sent."""
    settings = sftp.settings()
    sftp.change_host_key()
    text = await fails_for_good(settings, file, "SFTP_HOST_KEY_CHANGED")
    assert f"{sftp.host}:{sftp.port}" in text
    assert fingerprint(settings.host_key) in text
    assert fingerprint(sftp.host_key) in text
    assert "ask the server's operator" in text
    assert (sftp.users, sftp.uploaded, list(sftp.folder.iterdir())) == ([], 0, [])


async def test_a_host_key_of_another_kind_is_refused_too(sftp: SftpServer, file: Path) -> None:
    """S15"""
    settings = sftp.settings()
    sftp.change_host_key("ecdsa-sha2-nistp256")
    text = await fails_for_good(settings, file, "SFTP_HOST_KEY_CHANGED")
    assert fingerprint(settings.host_key) in text
    assert fingerprint(sftp.host_key) in text
    assert sftp.users == []


async def test_while_a_server_changes_its_key_both_can_be_pinned(
    sftp: SftpServer, file: Path
) -> None:
    """S15"""
    old = sftp.host_key
    sftp.change_host_key("ecdsa-sha2-nistp256")
    assert await send(sftp.settings(host_key=f"{old}\n{sftp.host_key}"), file)


async def test_what_the_machine_trusts_by_itself_does_not_count(
    sftp: SftpServer, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S15: neither known hosts, nor a configuration that turns the check off."""
    settings = sftp.settings()
    sftp.change_host_key()
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "known_hosts").write_text(f"* {sftp.host_key}\n")
    (tmp_path / ".ssh" / "config").write_text("Host *\n  StrictHostKeyChecking no\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    await fails_for_good(settings, file, "SFTP_HOST_KEY_CHANGED")


async def test_an_unknown_user_or_key_is_refused_for_good(
    sftp: SftpServer, file: Path, tmp_path: Path
) -> None:
    """S15"""
    text = await fails_for_good(sftp.settings(username="eve"), file, "SFTP_LOGIN_REFUSED")
    assert "eve" in text
    other = tmp_path / "other-key"
    other.touch(0o600)
    other.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    await fails_for_good(sftp.settings(private_key=other), file, "SFTP_LOGIN_REFUSED")
    assert sftp.connections == 0


async def test_sha_1_is_not_spoken(sftp: SftpServer, file: Path) -> None:
    """S15"""
    sftp.options = {"kex_algs": ["diffie-hellman-group14-sha1"]}
    sftp.stop()
    sftp.start()
    failed = await fails(sftp.settings(), file)
    # Both notice that they have nothing in common; whoever is quicker hangs up.
    assert failed.code in {"SFTP_FAILED", "SFTP_CUT_OFF"}
    assert sftp.users == []


async def test_the_servers_words_and_our_secrets_stay_out_of_errors(
    sftp: SftpServer, file: Path
) -> None:
    """SE-2"""
    sftp.hook = refusing("rename", asyncssh.SFTPFailure("/srv/secret: no such customer"))
    failed = await fails(sftp.settings(), file)
    assert "secret" not in str(failed)


def fingerprint(host_key: str) -> str:
    return asyncssh.import_public_key(host_key).get_fingerprint()
