"""Where files are sent is a setting; what cannot work is refused before anything is sent."""

from pathlib import Path

import asyncssh
import pytest

from shop.shipping.transfer.choose import strategy_for
from shop.shipping.transfer.local import LocalTransfer
from shop.shipping.transfer.sftp import SftpTransfer
from shop.shipping.transfer.sftp_settings import SftpSettings
from todoke import Settings

SESAME = "open sesame"
HOST_KEY = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
OTHER_KEY = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key().decode()
CLIENT_KEY = asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture(autouse=True)
def _no_sftp_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("host", "port", "username", "private_key", "passphrase", "host_key", "host_key_file")
    for name in (*names, "folder", "timeout", "strategy", "sent"):
        monkeypatch.delenv(f"JOBS_SFTP_{name.upper()}", raising=False)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return written(tmp_path / "client-key", CLIENT_KEY.export_private_key())


def written(file: Path, content: bytes, mode: int = 0o600) -> Path:
    file.write_bytes(content)
    file.chmod(mode)
    return file


def said(**sftp: object) -> Settings:
    return Settings({"jobs": {"sftp": sftp}}, environment={})


def read(key_file: Path, **sftp: object) -> SftpSettings:
    needed = {"host": "sftp.example.com", "username": "shop", "host_key": HOST_KEY}
    return SftpSettings.read(said(**needed | {"private_key": str(key_file)} | sftp))


def test_what_is_not_said_has_a_default(key_file: Path) -> None:
    """F23"""
    found = read(key_file)
    assert (found.port, found.folder, found.timeout) == (22, ".", 30.0)
    assert found.client.get_fingerprint() == CLIENT_KEY.get_fingerprint()
    assert [key.export_public_key().decode().strip() for key in found.pinned] == [HOST_KEY]


def test_everything_can_be_said(key_file: Path) -> None:
    """F23"""
    found = read(key_file, port=2222, folder="/in", timeout="2.5s")
    assert (found.host, found.username) == ("sftp.example.com", "shop")
    assert (found.port, found.folder, found.timeout) == (2222, "/in", 2.5)


def test_todokes_variables_say_it_too(key_file: Path) -> None:
    """F23"""
    variables = {
        "TODOKE_JOBS_SFTP_HOST": "sftp.example.com",
        "TODOKE_JOBS_SFTP_USERNAME": "shop",
        "TODOKE_JOBS_SFTP_PRIVATE_KEY": str(key_file),
        "TODOKE_JOBS_SFTP_HOST_KEY": HOST_KEY,
    }
    assert SftpSettings.read(Settings({}, environment=variables)) == read(key_file)


def test_plain_variables_say_it_too(key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F23: dots are written as lines."""
    monkeypatch.setenv("JOBS_SFTP_HOST", "sftp.example.com")
    monkeypatch.setenv("JOBS_SFTP_USERNAME", "shop")
    monkeypatch.setenv("JOBS_SFTP_PRIVATE_KEY", str(key_file))
    monkeypatch.setenv("JOBS_SFTP_HOST_KEY", HOST_KEY)
    assert SftpSettings.read(said()) == read(key_file)


def test_several_host_keys_are_pinned_while_a_server_changes_its_key(key_file: Path) -> None:
    """S15"""
    both = f"# the old and the new one\n{HOST_KEY} root@old\n\n{OTHER_KEY}"
    assert len(read(key_file, host_key=both).pinned) == 2


def test_the_host_key_may_stand_in_a_file(key_file: Path, tmp_path: Path) -> None:
    """S15"""
    file = written(tmp_path / "host.pub", HOST_KEY.encode())
    assert read(key_file, host_key="", host_key_file=str(file)) == read(key_file)
    with pytest.raises(ValueError, match="keep one"):
        read(key_file, host_key_file=str(file))


@pytest.mark.parametrize("name", ["host", "username", "private_key", "host_key"])
def test_what_is_missing_is_named_with_what_to_write(key_file: Path, name: str) -> None:
    """S15: without a pinned key nothing is sent to anybody."""
    with pytest.raises(ValueError, match=rf"^jobs\.sftp\.{name} is missing; write "):
        read(key_file, **{name: ""})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "ssh"),
        ("timeout", "soon"),
        ("host_key", "SHA256:abc"),
        ("host_key", "ssh-ed25519 AAAA"),
        ("host_key", "# none"),
        ("private_key", "/no/such/file"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(key_file: Path, name: str, value: str) -> None:
    """S15"""
    with pytest.raises(ValueError, match=rf"jobs\.sftp\.{name}.*; write "):
        read(key_file, **{name: value})


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_private_key_that_others_may_read_is_refused(key_file: Path, mode: int) -> None:
    """S15"""
    key_file.chmod(mode)
    with pytest.raises(ValueError, match=r"jobs\.sftp\.private_key .*chmod 600"):
        read(key_file)


def test_what_is_no_private_key_is_refused_and_not_quoted(tmp_path: Path) -> None:
    """S15, SE-2"""
    file = written(tmp_path / "key", SESAME.encode())
    with pytest.raises(ValueError, match=r"jobs\.sftp\.private_key") as refused:
        read(file)
    assert SESAME not in str(refused.value)


def test_a_passphrase_opens_the_key_and_is_not_shown(tmp_path: Path) -> None:
    """S15, SE-2"""
    locked = CLIENT_KEY.export_private_key("pkcs8-pem", passphrase=SESAME)
    file = written(tmp_path / "key", locked)
    found = read(file, passphrase=SESAME)
    assert found.client.get_fingerprint() == CLIENT_KEY.get_fingerprint()
    assert SESAME not in repr(found)
    for wrong in ("", "another"):
        with pytest.raises(ValueError, match=r"jobs\.sftp\.passphrase"):
            read(file, passphrase=wrong)


def test_files_stay_on_this_machine_until_another_way_is_said(tmp_path: Path) -> None:
    """F23"""
    assert strategy_for(said()).where == "var/sent"
    chosen = strategy_for(said(strategy="local", sent=str(tmp_path)))
    assert isinstance(chosen, LocalTransfer)
    assert chosen.where == str(tmp_path)


def test_sftp_is_chosen_by_its_name(key_file: Path) -> None:
    """F23"""
    needed = {"host": "sftp.example.com", "username": "shop", "host_key": HOST_KEY, "folder": "in"}
    chosen = strategy_for(said(strategy="sftp", private_key=str(key_file), **needed))
    assert isinstance(chosen, SftpTransfer)
    assert chosen.where == "in at sftp://sftp.example.com:22"


def test_another_way_is_refused_with_the_two_that_there_are() -> None:
    """F23"""
    with pytest.raises(ValueError, match=r'jobs\.sftp\.strategy is \'ftp\'.*"local".*"sftp"'):
        strategy_for(said(strategy="ftp"))
