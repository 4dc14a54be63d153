"""Every way of bringing a file to another place, against the real other end of it."""

import itertools
from pathlib import Path

import pytest
from tests.servers.sftp_server import SftpServer
from tests.servers.sshd import Sshd

from shop.shipping.transfer.conformance import TransferConformance, written
from shop.shipping.transfer.local import LocalTransfer
from shop.shipping.transfer.sftp import SftpTransfer
from shop.shipping.transfer.sftp_settings import SftpSettings
from shop.shipping.transfer.strategy import checked_name, draft_name
from todoke import PermanentError


class Folder:
    """The other end, when it is on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> set[str]:
        return {file.name for file in self.path.iterdir()} if self.path.exists() else set()

    def content(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def put(self, name: str, content: bytes) -> None:
        self.path.mkdir(exist_ok=True)
        (self.path / name).write_bytes(content)

    def link(self, name: str, target: Path) -> None:
        self.path.mkdir(exist_ok=True)
        (self.path / name).symlink_to(target)

    def take(self, name: str) -> None:
        (self.path / name).unlink()


class FolderOfSshd(Folder):
    """The server is not the account that runs the tests."""

    def __init__(self, server: Sshd, settings: SftpSettings) -> None:
        super().__init__(Path(settings.folder))
        self._server = server

    def put(self, name: str, content: bytes) -> None:
        super().put(name, content)
        self._server.give(self.path / name)


class TestLocalTransfer(TransferConformance):
    @pytest.fixture
    def counterpart(self, tmp_path: Path) -> Folder:
        return Folder(tmp_path / "sent")

    @pytest.fixture
    def strategy(self, counterpart: Folder) -> LocalTransfer:
        return LocalTransfer(counterpart.path)

    async def test_the_folder_is_made_when_it_is_missing(self, tmp_path: Path) -> None:
        """F23"""
        folder = tmp_path / "var" / "sent"
        async with LocalTransfer(folder).open() as place:
            await place.upload(written(tmp_path, b"1"))
        assert len(list(folder.iterdir())) == 1

    async def test_a_link_among_our_own_files_is_not_sent(
        self, strategy: LocalTransfer, counterpart: Folder, tmp_path: Path
    ) -> None:
        """S14"""
        (tmp_path / "secret").write_text("secret")
        (tmp_path / "a.csv").symlink_to(tmp_path / "secret")
        async with strategy.open() as place:
            with pytest.raises(OSError, match=r"a\.csv"):
                await place.upload(tmp_path / "a.csv")
        assert counterpart.names() == set()


class TestSftpTransfer(TransferConformance):
    @pytest.fixture
    def counterpart(self, sftp: SftpServer) -> Folder:
        return Folder(sftp.folder)

    @pytest.fixture
    def strategy(self, sftp: SftpServer) -> SftpTransfer:
        return SftpTransfer(sftp.settings())


class TestSftpTransferToOpenSsh(TransferConformance):
    @pytest.fixture
    def counterpart(self, sshd_server: Sshd, openssh: SftpSettings) -> FolderOfSshd:
        return FolderOfSshd(sshd_server, openssh)

    @pytest.fixture
    def strategy(self, openssh: SftpSettings) -> SftpTransfer:
        return SftpTransfer(openssh)


UPWARDS = ["..", "%2e%2e", "..%00", "‥", "．．", ". .", "..;", "\x2e\x2e"]
BETWEEN = ["/", "\\", "%2f", "%5c", "／", "∕", "\0", "//", "\n"]
DOWNWARDS = ["etc", "a.csv", "", "C:", "~", "con", "."]


def test_no_way_to_write_an_upper_folder_is_taken_for_a_name() -> None:
    """S14: more than a thousand of them."""
    ways = itertools.product(UPWARDS, BETWEEN, UPWARDS + DOWNWARDS)
    plain = {"".join(way) for way in ways}
    paths = plain | {f"a{path}" for path in plain} | {f"{path}.csv" for path in plain}
    assert len(paths) > 1000
    for path in sorted(paths):
        with pytest.raises(PermanentError) as refused:
            checked_name(path)
        assert refused.value.code == "TRANSFER_BAD_NAME"
        assert str(refused.value).isprintable(), "it goes to logs"


@pytest.mark.parametrize("name", ["a", "a.csv", "-", "_.x", "Shipments-2026_01..05.csv", "a" * 200])
def test_names_as_we_make_them_are_taken(name: str) -> None:
    """S14"""
    assert checked_name(name) == name
    assert draft_name(name) == f".{name}.part"
