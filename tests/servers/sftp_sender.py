"""Sends files by SFTP, and says how it went."""

from __future__ import annotations

from pathlib import Path

import pytest

from shop.shipping.transfer.sftp import SftpTransfer
from shop.shipping.transfer.sftp_settings import SftpSettings
from todoke import PermanentError, TransientError


async def send(settings: SftpSettings, file: Path) -> bool:
    async with SftpTransfer(settings).open() as place:
        await place.upload(file)
        return await place.reveal(file.name)


async def fails(settings: SftpSettings, file: Path) -> TransientError | PermanentError:
    try:
        await send(settings, file)
    except (TransientError, PermanentError) as failed:
        return failed
    pytest.fail("it was sent")


async def fails_for_now(settings: SftpSettings, file: Path, code: str) -> None:
    failed = await fails(settings, file)
    assert isinstance(failed, TransientError)
    assert failed.code == code


async def fails_for_good(settings: SftpSettings, file: Path, code: str) -> str:
    failed = await fails(settings, file)
    assert isinstance(failed, PermanentError)
    assert failed.code == code
    return str(failed)
