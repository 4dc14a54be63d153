"""Files sent by SFTP into a folder: what its disk and its owner do, and what receivers see."""

import asyncio
from pathlib import Path

import asyncssh
import pytest
from tests.servers.sftp_sender import fails, fails_for_good, fails_for_now, send
from tests.servers.sftp_server import SftpServer, refusing

from shop.shipping.transfer.conformance import CONTENT, DRAFT, NAME
from shop.shipping.transfer.sftp import SftpTransfer
from shop.shipping.transfer.sftp_settings import SftpSettings
from todoke import PermanentError, TransientError

SIZE = len(CONTENT)


async def test_a_full_disk_is_waited_for_and_the_upload_goes_on(
    sftp: SftpServer, file: Path
) -> None:
    """F23"""
    sftp.quota = 100_000
    await fails_for_now(sftp.settings(), file, "SFTP_FAILED")
    assert sftp.revealed == []
    # What was still on its way to a full disk is lost with the connection.
    sftp.stop()
    sftp.quota = None
    sftp.start()
    assert await send(sftp.settings(), file)
    assert sftp.uploaded == SIZE


@pytest.mark.parametrize(
    ("said", "kind", "code"),
    [
        (asyncssh.SFTPFailure(""), TransientError, "SFTP_FAILED"),
        (asyncssh.SFTPPermissionDenied(""), PermanentError, "SFTP_DENIED"),
    ],
)
async def test_a_rename_that_fails_leaves_the_draft_for_the_next_attempt(
    sftp: SftpServer, file: Path, said: asyncssh.SFTPError, kind: type[Exception], code: str
) -> None:
    """F23"""
    sftp.hook = refusing("rename", said)
    failed = await fails(sftp.settings(), file)
    assert isinstance(failed, kind)
    assert failed.code == code
    assert [one.name for one in sftp.folder.iterdir()] == [DRAFT]
    sftp.hook = lambda *_: None
    assert await send(sftp.settings(), file)
    assert sftp.uploaded == SIZE


async def test_a_rename_whose_answer_was_lost_is_found_done(sftp: SftpServer, file: Path) -> None:
    """F23"""

    def rename_and_cut(operation: str, name: str) -> None:
        if operation == "rename":
            (sftp.folder / DRAFT).rename(sftp.folder / name)
            sftp.cut()

    sftp.hook = rename_and_cut
    await fails_for_now(sftp.settings(), file, "SFTP_CUT_OFF")
    sftp.hook = lambda *_: None
    async with SftpTransfer(sftp.settings()).open() as place:
        assert await place.reveal(NAME)
    assert sftp.revealed == []
    assert (sftp.folder / NAME).read_bytes() == CONTENT


async def test_a_server_that_knows_no_fsync_is_good_enough(sftp: SftpServer, file: Path) -> None:
    """F23"""
    sftp.hook = refusing("fsync", asyncssh.SFTPOpUnsupported(""))
    assert await send(sftp.settings(), file)


async def test_a_file_is_on_the_servers_disk_before_it_has_its_name(
    sftp: SftpServer, file: Path
) -> None:
    """F23"""
    seen: list[str] = []
    sftp.hook = lambda operation, _: seen.append(operation)
    assert await send(sftp.settings(), file)
    assert seen[-2:] == ["fsync", "rename"]
    assert seen.count("rename") == 1


async def test_a_missing_folder_is_no_empty_one(sftp: SftpServer, file: Path) -> None:
    """F23"""
    text = await fails_for_good(sftp.settings(folder="in"), file, "SFTP_NO_FOLDER")
    assert "'in'" in text
    (sftp.folder / "in").write_bytes(b"")
    await fails_for_good(sftp.settings(folder="in"), file, "SFTP_NO_FOLDER")


async def test_a_folder_that_may_not_be_written_to_needs_a_person(
    openssh: SftpSettings, file: Path
) -> None:
    """F23"""
    Path(openssh.folder).chmod(0o500)
    text = await fails_for_good(openssh, file, "SFTP_DENIED")
    assert openssh.folder in text


async def test_a_file_of_ours_that_is_gone_is_no_fault_of_the_servers(
    sftp: SftpServer, tmp_path: Path
) -> None:
    """F23"""
    with pytest.raises(FileNotFoundError):
        await send(sftp.settings(), tmp_path / "gone.csv")


async def test_at_no_moment_a_receiver_sees_a_part_of_a_file(sftp: SftpServer, file: Path) -> None:
    """F23: through cuts, a full disk and a failed rename."""
    for part in (1, 100_000, 300_000):
        sftp.cut_after(part)
        await fails(sftp.settings(), file)
    sftp.quota = 500_000
    await fails(sftp.settings(), file)
    sftp.quota = None
    sftp.hook = refusing("rename", asyncssh.SFTPFailure(""))
    await fails(sftp.settings(), file)
    sftp.hook = lambda *_: None
    assert await send(sftp.settings(), file)
    assert len(sftp.sights) > 2 * SIZE // 32_768
    assert {size for sight in sftp.sights for size in sight.values()} == {SIZE}
    assert sftp.revealed == [NAME]


async def test_two_attempts_at_once_make_one_whole_file(sftp: SftpServer, file: Path) -> None:
    """F23: the older one was given up, and does not know it."""
    settings = sftp.settings()
    attempts = (send(settings, file) for _ in range(3))
    ends = await asyncio.gather(*attempts, return_exceptions=True)
    assert True in ends
    assert all(end is True or isinstance(end, TransientError) for end in ends), ends
    assert {size for sight in sftp.sights for size in sight.values()} == {SIZE}
    assert [one.name for one in sftp.folder.iterdir()] == [NAME]
    assert (sftp.folder / NAME).read_bytes() == CONTENT
