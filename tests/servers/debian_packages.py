"""Programs out of Debian packages that are unpacked, not installed: no root, no services.

They are kept in the user's cache folder, so a machine downloads them once.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TRIES = 3
# The machine's own: another C library than the running one would not load.
NEVER_OURS = frozenset({"libc6", "libgcc-s1", "libstdc++6"})
STALE_LISTS = (
    "Unable to locate package",
    "Can't find a source",
    "no installation candidate",
    "404",
)


class PackagesUnavailable(Exception):
    """The packages could not be had; the message says why."""


@dataclass(frozen=True)
class Tree:
    """A folder that is laid out as `/` is: the machine's own, or one of unpacked packages."""

    root: Path

    def command(self, program: str) -> list[str]:
        """The beginning of a command line that runs a program of this tree."""
        path = str(self.root / program)
        if self.root == Path("/"):
            return [path]
        return ["env", f"LD_LIBRARY_PATH={':'.join(self._libraries())}", path]

    def _libraries(self) -> list[str]:
        found = [*self.root.glob("usr/lib/*-linux-gnu*"), *self.root.glob("lib/*-linux-gnu*")]
        return [str(folder) for folder in sorted(found)]


MACHINE = Tree(Path("/"))


def unpacked(name: str, packages: Sequence[str]) -> Tree:
    """The packages and their libraries, unpacked once for all processes that ask for them."""
    folder = cache_folder() / f"{name}-{release()}-{platform.machine()}"
    with one_at_a_time(folder):
        if not folder.is_dir():
            unpack_into(folder, packages)
    return Tree(folder)


def cache_folder() -> Path:
    chosen = os.environ.get("XDG_CACHE_HOME")
    return Path(chosen or Path.home() / ".cache") / "todoke" / "servers"


def release() -> str:
    # A home folder can be shared between machines, and a library belongs to its release.
    told = platform.freedesktop_os_release()
    return f"{told['ID']}{told.get('VERSION_ID', '')}"


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack_into(folder: Path, packages: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
        files, tree = Path(draft, "files"), Path(draft, "tree")
        files.mkdir()
        download(packages, files)
        download(libraries_of(packages), files)
        for file in sorted(files.iterdir()):
            subprocess.run(["dpkg-deb", "-x", file, tree], check=True, capture_output=True)
        # In one step: whoever dies before it leaves nothing that looks complete.
        shutil.move(tree, folder)


def download(packages: Sequence[str], folder: Path) -> None:
    for _ in range(TRIES):
        complaint = apt("apt-get", "download", *packages, folder=folder)
        if not complaint:
            return
        if os.geteuid() == 0 and any(words in complaint for words in STALE_LISTS):
            apt("apt-get", "update", folder=folder)
    raise PackagesUnavailable(complaint.splitlines()[-1])


def libraries_of(packages: Sequence[str]) -> list[str]:
    told = subprocess.run(
        ["apt-cache", "depends", *packages], check=True, capture_output=True, text=True
    )
    named = {line.partition("Depends: ")[2] for line in told.stdout.splitlines()}
    return sorted({name for name in named if name.startswith("lib")} - NEVER_OURS)


def apt(*command: str, folder: Path) -> str:
    """Runs apt; answers what it complained about, or nothing when it did its work."""
    finished = subprocess.run(
        [*command, "-o", "Acquire::Retries=3"],
        check=False,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    if finished.returncode == 0:
        return ""
    return finished.stderr.strip() or f"apt ended with status {finished.returncode}"
