"""Files sent by SFTP over a line that is cut, slow or dead."""

import asyncio
from asyncio import StreamReader, StreamWriter
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest
from tests.servers.budget_line import BudgetLine
from tests.servers.sftp_sender import fails, fails_for_now, send
from tests.servers.sftp_server import SftpServer

from shop.shipping.transfer.conformance import CONTENT, DRAFT, NAME, written
from shop.shipping.transfer.sftp import SftpTransfer
from shop.shipping.transfer.sftp_settings import SftpSettings
from todoke import TransientError
from todoke.testing import FaultyLine

SIZE = len(CONTENT)


@pytest.mark.parametrize("part", [1, 3 * 32_768 + 17, SIZE - 1])
async def test_after_a_cut_only_the_rest_is_sent(sftp: SftpServer, file: Path, part: int) -> None:
    """F23"""
    sftp.cut_after(part)
    await fails_for_now(sftp.settings(), file, "SFTP_CUT_OFF")
    assert (sftp.folder / DRAFT).read_bytes() == CONTENT[:part]
    assert sftp.uploaded == part
    assert await send(sftp.settings(), file)
    assert sftp.uploaded == SIZE, "no byte was sent twice"
    assert (sftp.folder / NAME).read_bytes() == CONTENT


async def test_a_file_arrives_over_a_line_that_is_cut_again_and_again(
    sftp: SftpServer, file: Path
) -> None:
    """F23"""
    for _ in range(5):
        sftp.cut_after(100_000)
        await fails_for_now(sftp.settings(), file, "SFTP_CUT_OFF")
    assert await send(sftp.settings(), file)
    assert sftp.uploaded == SIZE


async def test_openssh_too_is_sent_only_the_rest_after_a_cut(
    openssh: SftpSettings, tmp_path: Path
) -> None:
    """F23"""
    content = CONTENT * 3
    file = written(tmp_path, content)
    async with BudgetLine(openssh.port, budget=1_500_000) as line:
        await fails_for_now(replace(openssh, port=line.port), file, "SFTP_CUT_OFF")
    part = (Path(openssh.folder) / DRAFT).stat().st_size
    assert 0 < part < len(content)
    async with BudgetLine(openssh.port) as line:
        assert await send(replace(openssh, port=line.port), file)
    assert line.sent < len(content) - part + 50_000, "the rest, and what SSH itself needs"
    assert (Path(openssh.folder) / NAME).read_bytes() == content


async def test_a_foreign_draft_costs_one_whole_upload(sftp: SftpServer, file: Path) -> None:
    """F23"""
    (sftp.folder / DRAFT).write_bytes(bytes(SIZE // 2))
    assert await send(sftp.settings(), file)
    assert sftp.uploaded == SIZE
    assert (sftp.folder / NAME).read_bytes() == CONTENT


async def test_a_complete_draft_is_not_sent_again(sftp: SftpServer, file: Path) -> None:
    """F23"""
    (sftp.folder / DRAFT).write_bytes(CONTENT)
    assert await send(sftp.settings(), file)
    assert sftp.uploaded == 0


async def test_a_server_that_is_not_there_is_named_as_such(sftp: SftpServer, file: Path) -> None:
    """F23"""
    sftp.stop()
    await fails_for_now(sftp.settings(), file, "SFTP_UNREACHABLE")
    sftp.start()
    assert await send(sftp.settings(), file)


async def test_a_name_that_nobody_knows_is_named_as_such(sftp: SftpServer, file: Path) -> None:
    """F23"""
    await fails_for_now(sftp.settings(host="sftp.invalid"), file, "SFTP_UNREACHABLE")


async def test_a_server_that_speaks_something_else_fails_for_now(
    sftp: SftpServer, file: Path
) -> None:
    """F23"""

    async def answer(_: StreamReader, writer: StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as stranger:
        port = stranger.sockets[0].getsockname()[1]
        failed = await fails(sftp.settings(port=port), file)
    assert isinstance(failed, TransientError)


async def test_a_server_that_never_says_a_word_is_given_up(sftp: SftpServer, file: Path) -> None:
    """F23"""
    with FaultyLine(sftp.host, sftp.port) as line:
        line.hang()
        settings = sftp.settings(port=line.port, timeout=0.3)
        await fails_for_now(settings, file, "SFTP_TIMEOUT")


@pytest.mark.parametrize("operation", ["open", "write", "fsync", "rename"])
async def test_a_server_that_falls_silent_is_given_up(
    sftp: SftpServer, file: Path, operation: str
) -> None:
    """F23: and what it was sent meanwhile does no harm."""
    with FaultyLine(sftp.host, sftp.port) as line:
        sftp.hook = lambda now, _: line.hang() if now == operation else None
        await fails_for_now(sftp.settings(port=line.port, timeout=0.5), file, "SFTP_TIMEOUT")
        sftp.hook = lambda *_: None
        line.heal()
        assert await send(sftp.settings(port=line.port), file)
    assert (sftp.folder / NAME).read_bytes() == CONTENT
    assert sftp.revealed == [NAME]


async def test_a_slow_line_that_makes_progress_is_not_given_up(
    sftp: SftpServer, tmp_path: Path
) -> None:
    """F23: the limit is on each step, not on the whole file."""
    file = written(tmp_path, CONTENT * 2)
    with FaultyLine(sftp.host, sftp.port) as line:
        settings = sftp.settings(port=line.port, timeout=1.0)
        async with SftpTransfer(settings).open() as place:
            line.delay("100ms")
            began = monotonic()
            await place.upload(file)
            assert monotonic() - began > settings.timeout
