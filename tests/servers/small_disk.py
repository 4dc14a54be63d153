"""A disk that is soon full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.availability import ServerUnavailable


class SmallDisk:
    """A file system of its own, in memory, with room for so many bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / ".ballast"

    def fill(self, leaving: int) -> None:
        """Take all its room but about so many bytes."""
        with self._ballast.open("wb", buffering=0) as ballast:
            try:
                while ballast.write(bytes(4096)):
                    pass
            except OSError:
                ballast.truncate(max(0, ballast.tell() - leaving))

    def empty(self) -> None:
        """Give the room back."""
        self._ballast.unlink()


@contextmanager
def small_disk(folder: Path, size: int = 1 << 20) -> Iterator[SmallDisk]:
    """Skips the test where file systems may not be mounted."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "todoke-small-disk", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ServerUnavailable("tmpfs", "mounting needs the rights of root") from error
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
