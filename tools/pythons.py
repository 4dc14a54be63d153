"""Runs all tests on every Python that todoke supports and this machine has, one after the other.

    python3 tools/pythons.py [arguments of pytest]

Each has an environment of its own in var/. Ends with a line for each, and fails if one failed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DECLARED = re.compile(r'"Programming Language :: Python :: (3\.\d+)"')


def main() -> int:
    lines, failed = [], False
    for version in DECLARED.findall((ROOT / "pyproject.toml").read_text()):
        python = next(found(version), None)
        if python is None:
            lines.append(f"Python {version}: not on this machine")
            continue
        started = time.monotonic()
        code = test(version, python, sys.argv[1:])
        failed = failed or code != 0
        verdict = "passed" if code == 0 else f"FAILED with status {code}"
        lines.append(f"{told(python)}: {verdict}, {time.monotonic() - started:.0f} s")
    print("", *lines, sep="\n")
    return int(failed)


def found(version: str) -> Iterator[str]:
    """Interpreters of this version, on the search path or among pyenv's."""
    named = shutil.which(f"python{version}")
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for candidate in (*([named] if named else []), *map(str, pyenv)):
        if told(candidate).startswith(f"Python {version}."):
            yield candidate


def told(python: str) -> str:
    answer = subprocess.run([python, "--version"], check=False, capture_output=True, text=True)
    return answer.stdout.strip()


def test(version: str, python: str, arguments: list[str]) -> int:
    print(f"--- Python {version} ---", flush=True)
    place = f"VENV=var/python-{version}"
    wishes = f"ARGUMENTS={' '.join(arguments)}"
    return subprocess.run(
        ["make", "test", f"PYTHON={python}", place, wishes], check=False, cwd=ROOT
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
