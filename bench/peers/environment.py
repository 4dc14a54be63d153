"""The peers' own environments, var/bench and var/bench-newer: nothing of theirs comes into ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER, NEWER_FOLDER = ROOT / "var" / "bench", ROOT / "var" / "bench-newer"
PYTHON = FOLDER / "bin" / "python"
LOCK = ROOT / "requirements" / "bench.txt"
NEWER, NEWER_PEERS = (3, 12), ("oban",)
"""Peers that want a newer Python than todoke does, and which."""
JOB_PEERS = ("pgqueuer", "procrastinate", "chancy", "dbos", "oban", "dramatiq", "celery")
PEERS = ("txoutbox", *JOB_PEERS)
BESIDE = ("asyncpg", "psycopg", "sqlalchemy", "redis", "pydantic")


def install(wanted: Collection[str] = PEERS) -> dict[str, str]:
    """Makes the environments where they are not; answers which peers cannot be had, and why."""
    newer = [peer for peer in wanted if _is_newer(peer)]
    missing = _install(FOLDER, sys.executable, [peer for peer in wanted if peer not in newer])
    if newer:
        missing |= _install_newer(newer)
    return missing


def _install_newer(peers: Collection[str]) -> dict[str, str]:
    if python := _newer_python():
        return _install(NEWER_FOLDER, python, peers)
    least = ".".join(map(str, NEWER))
    return dict.fromkeys(peers, f"needs Python {least} or newer, and none was found here")


def _install(folder: Path, python: str, peers: Collection[str]) -> dict[str, str]:
    stamp, inside = folder / "installed", str(folder / "bin" / "python")
    try:
        if not stamp.is_file() or stamp.read_text() != LOCK.read_text():
            subprocess.run([python, "-m", "venv", str(folder)], check=True)
            pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--require-hashes", "--no-deps", "-r", str(LOCK)], check=True)
            stamp.write_text(LOCK.read_text())
    except (OSError, subprocess.SubprocessError) as error:
        return dict.fromkeys(peers, f"could not be installed: {error}")
    return {peer: reason for peer in peers if (reason := _refusal(inside, peer))}


def _is_newer(peer: str) -> bool:
    return peer in NEWER_PEERS and sys.version_info < NEWER


def python_of(peer: str) -> Path:
    return (NEWER_FOLDER if _is_newer(peer) else FOLDER) / "bin" / "python"


def _newer_python() -> str:
    """The oldest that will do, of those on the path and of pyenv's."""
    return next((str(one) for one in _pythons() if _runs(one)), "")


def _pythons() -> Iterator[Path]:
    major, minor = NEWER
    for number in range(minor, minor + 4):
        if on_path := shutil.which(f"python{major}.{number}"):
            yield Path(on_path)
        yield from sorted(Path.home().glob(f".pyenv/versions/{major}.{number}.*/bin/python"))


def _runs(python: Path) -> bool:
    """pyenv puts names on the path that lead nowhere."""
    asked = f"import sys, venv; sys.exit(sys.version_info < {NEWER!r})"
    return not subprocess.run([python, "-c", asked], check=False, capture_output=True).returncode


def _refusal(python: str, peer: str) -> str:
    """Why the side of this peer cannot even be imported; nothing if it can."""
    room = "bench.peers.jobs" if peer in JOB_PEERS else "bench.peers"
    command = [python, "-c", f"import {room}.{peer}"]
    answer = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    return answer.stderr.strip().splitlines()[-1] if answer.returncode else ""


def versions() -> dict[str, dict[str, str]]:
    """Of what is installed there, by environment; nothing where it could not be."""
    newer = [peer for peer in PEERS if _is_newer(peer)]
    own = [peer for peer in PEERS if peer not in newer]
    found = {"peers": _versions(FOLDER, (*own, *BESIDE))}
    if newer:
        found["peers on a newer Python"] = _versions(NEWER_FOLDER, (*newer, *BESIDE))
    return {where: names for where, names in found.items() if names}


def _versions(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    python = folder / "bin" / "python"
    if not python.is_file():
        return {}
    asked = f"""
import platform
from importlib.metadata import version
print(platform.python_version(), *map(version, {names!r}))"""
    answer = subprocess.run([str(python), "-c", asked], check=False, capture_output=True, text=True)
    return dict(zip(("Python", *names), answer.stdout.split(), strict=False))


def our_versions() -> dict[str, str]:
    return {name: version(name) for name in ("todoke", "sqlalchemy", "psycopg", "pydantic")}
