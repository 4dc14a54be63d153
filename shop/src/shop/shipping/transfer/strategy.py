"""What every way of bringing a file to another place can do."""

import re
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from todoke import PermanentError

# With the six letters of a draft it stays below the 255 bytes that file systems take.
_LONGEST = 200
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
# Windows gives these to devices, whatever follows the first dot, and drops a dot at the end.
_OF_WINDOWS = re.compile(r"(CON|PRN|AUX|NUL|COM\d|LPT\d)(\..*)?|.*\.", re.IGNORECASE)


class Place(Protocol):
    """A folder elsewhere, as long as the line to it is open."""

    async def upload(self, file: Path) -> None:
        """Make the file complete there under its draft's name, which receivers do not take.

        Goes on where an earlier attempt was cut off. A draft that is longer than the file, or no
        beginning of it, is begun anew.
        """

    async def reveal(self, name: str) -> bool:
        """Give the draft its name, in one step; True when the file is there under it now.

        False when neither is there: a receiver may have taken it already, and the caller decides.
        A file of that name with other content is never overwritten.
        """


class TransferStrategy(Protocol):
    @property
    def where(self) -> str:
        """The place, for logs and errors; holds no secrets."""

    def open(self) -> AbstractAsyncContextManager[Place]:
        """The place, with a line of its own to it."""


def checked_name(name: str) -> str:
    """The name, when it can be nothing but the name of a file in the place's own folder."""
    if _NAME.fullmatch(name) and len(name) <= _LONGEST and not _OF_WINDOWS.fullmatch(name):
        return name
    raise PermanentError(
        f"{name[:_LONGEST]!a} is not sent as the name of a file; take at most {_LONGEST} of"
        " A-Z a-z 0-9 . _ - and begin with no dot",
        code="TRANSFER_BAD_NAME",
    )


def draft_name(name: str) -> str:
    """What a file is called there until it is whole."""
    return f".{checked_name(name)}.part"


def name_taken(name: str, where: str) -> PermanentError:
    return PermanentError(
        f"{where} has something else by the name {name}, which is not overwritten; find out who"
        " put it there, have it moved away, and try again",
        code="TRANSFER_NAME_TAKEN",
    )


def no_file(name: str, where: str) -> PermanentError:
    return PermanentError(
        f"{name} in {where} is a link or a folder, and not ours; nothing was written to it. Find"
        " out who put it there, have it removed, and try again",
        code="TRANSFER_NO_FILE",
    )
