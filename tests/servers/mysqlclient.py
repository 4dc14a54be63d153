"""mysqlclient, Django's driver for MariaDB: built once, against MariaDB's own C library.

It comes as source only, and a machine may have neither the library nor its headers; these are then
taken out of unpacked Debian packages.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from tests.servers.availability import ServerUnavailable
from tests.servers.debian_packages import (
    PackagesUnavailable,
    cache_folder,
    one_at_a_time,
    release,
    unpacked,
)

LOCK = Path(__file__).parents[2] / "requirements" / "mysqlclient.txt"
PACKAGES = ("libmariadb-dev", "libmariadb3")
TRIES = 3


def import_mysqlclient() -> None:
    """Make `import MySQLdb` work in this process."""
    try:
        sys.path.append(str(_built()))
        import_module("MySQLdb")
    except (OSError, ImportError, subprocess.SubprocessError, PackagesUnavailable) as refusal:
        told = getattr(refusal, "stderr", None) or str(refusal)
        reason = f"it cannot be built: {told.strip().splitlines()[-1]}"
        raise ServerUnavailable("mysqlclient", reason) from refusal


def _built() -> Path:
    version = next(
        line.split()[0] for line in LOCK.read_text().splitlines() if line.startswith("mysqlclient")
    )
    python = f"{sys.implementation.cache_tag}-{platform.machine()}"
    folder = cache_folder() / f"{version.replace('==', '-')}-{python}-{release()}"
    with one_at_a_time(folder):
        if not folder.is_dir():
            _build(folder)
    return folder


def _build(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
        for left in reversed(range(TRIES)):
            try:
                _install(Path(draft, "tree"))
                break
            except subprocess.CalledProcessError:
                if not left:
                    raise
        shutil.move(Path(draft, "tree"), folder)


def _install(target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]
    where = ["--require-hashes", "--requirement", str(LOCK), "--target", str(target)]
    subprocess.run(
        [*command, "--retries", "5", *where],
        check=True,
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, **_library()},
    )


def _library() -> dict[str, str]:
    """Where the compiler finds MariaDB's library; nothing where it is installed."""
    if shutil.which("mariadb_config") or shutil.which("mysql_config"):
        return {}
    root = unpacked("libmariadb", PACKAGES).root
    (libraries,) = root.glob("usr/lib/*-linux-gnu*")
    return {
        "MYSQLCLIENT_CFLAGS": f"-I{root}/usr/include/mariadb",
        "MYSQLCLIENT_LDFLAGS": f"-L{libraries} -lmariadb -Wl,-rpath,{libraries}",
    }
