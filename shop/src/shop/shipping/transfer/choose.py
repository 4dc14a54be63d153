"""Which way files go: `jobs.sftp.strategy` says it."""

from pathlib import Path

from shop.settings import Section
from shop.shipping.transfer.local import LocalTransfer
from shop.shipping.transfer.sftp import SftpTransfer
from shop.shipping.transfer.sftp_settings import SECTION, SftpSettings
from shop.shipping.transfer.strategy import TransferStrategy
from todoke import Settings

SENT = Path("var/sent")


def strategy_for(settings: Settings) -> TransferStrategy:
    section = Section(settings, SECTION)
    match section.text("strategy") or "local":
        case "local":
            return LocalTransfer(section.file("sent") or SENT)
        case "sftp":
            return SftpTransfer(SftpSettings.read(settings))
        case other:
            raise ValueError(
                f'{SECTION}.strategy is {other!r}; write "local", for a folder of this machine, or'
                ' "sftp"'
            )
