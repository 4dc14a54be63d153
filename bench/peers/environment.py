"""The peers' own environment, var/bench: nothing of theirs comes into ours."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "var" / "bench"
PYTHON = FOLDER / "bin" / "python"
LOCK = ROOT / "requirements" / "bench.txt"
STAMP = FOLDER / "installed"
PEERS = ("pgqueuer", "txoutbox", "procrastinate")


def install() -> dict[str, str]:
    """Makes the environment where it is not; answers which peers cannot be had, and why."""
    try:
        if not STAMP.is_file() or STAMP.read_text() != LOCK.read_text():
            subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
            pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--require-hashes", "--no-deps", "-r", str(LOCK)], check=True)
            STAMP.write_text(LOCK.read_text())
    except (OSError, subprocess.SubprocessError) as error:
        return dict.fromkeys(PEERS, f"could not be installed: {error}")
    return {peer: reason for peer in PEERS if (reason := _refusal(peer))}


def _refusal(peer: str) -> str:
    """Why the side of this peer cannot even be imported; nothing if it can."""
    command = [str(PYTHON), "-c", f"import bench.peers.{peer}"]
    answer = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    return answer.stderr.strip().splitlines()[-1] if answer.returncode else ""


def versions(names: tuple[str, ...] = (*PEERS, "asyncpg", "psycopg", "pydantic")) -> dict[str, str]:
    """Of what is installed there; nothing where it could not be."""
    if not PYTHON.is_file():
        return {}
    asked = f"from importlib.metadata import version; print(*map(version, {names!r}))"
    answer = subprocess.run([str(PYTHON), "-c", asked], check=False, capture_output=True, text=True)
    return dict(zip(names, answer.stdout.split(), strict=False))


def our_versions() -> dict[str, str]:
    return {name: version(name) for name in ("todoke", "sqlalchemy", "psycopg", "pydantic")}
