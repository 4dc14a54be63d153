"""Builds `.venv` for a purpose, `run` or `test`, and does nothing when it is already built.

    python3 tools/environment.py test

Needs nothing but the standard library. Downloads only what `requirements/PURPOSE.txt` names, by
hash, from whatever package index this machine's pip is set up for. TODOKE_VENV names another folder
than `.venv`.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / os.environ.get("TODOKE_VENV", ".venv")
PYTHON = ENVIRONMENT / "bin" / "python"
STAMP = ENVIRONMENT / "todoke-environment"
LOCK = ENVIRONMENT.with_name(f"{ENVIRONMENT.name}.lock")

OLDEST_PYTHON = (3, 11)
SERVES = {"run": ("run", "test"), "test": ("test",)}
PAUSES = (2, 5, 15, 30)


class BuildFailed(Exception):
    """The environment could not be built; the message says what to do."""


def main() -> int:
    purpose = parse_purpose()
    try:
        refuse_old_python()
        with one_builder_at_a_time():
            if not is_built(purpose):
                build(purpose)
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def parse_purpose() -> str:
    parser = argparse.ArgumentParser(description="Build .venv for a purpose.")
    parser.add_argument("purpose", choices=sorted(SERVES))
    return str(parser.parse_args().purpose)


def refuse_old_python() -> None:
    if sys.version_info[:2] < OLDEST_PYTHON:
        found = ".".join(map(str, sys.version_info[:3]))
        raise BuildFailed(
            f"todoke needs Python 3.11 or newer; this is {found} ({sys.executable}).\n"
            "Name another one: make PYTHON=/path/to/python3.11 …"
        )


@contextmanager
def one_builder_at_a_time() -> Iterator[None]:
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another build of the environment")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_built(purpose: str) -> bool:
    if not (STAMP.is_file() and PYTHON.is_file()):
        return False
    stamp = STAMP.read_text()
    return any(stamp == stamp_of(serving) for serving in SERVES[purpose])


def stamp_of(purpose: str) -> str:
    digest = hashlib.sha256()
    for path in (lock_of(purpose), ROOT / "pyproject.toml", ROOT / "shop" / "pyproject.toml"):
        digest.update(path.read_bytes())
    # An environment is bound to its Python and, by its scripts and editable installs, to its place.
    digest.update(f"{sys.version_info[:2]} {ROOT}".encode())
    return f"{purpose} {digest.hexdigest()}\n"


def lock_of(purpose: str) -> Path:
    return ROOT / "requirements" / f"{purpose}.txt"


def build(purpose: str) -> None:
    started = time.monotonic()
    STAMP.unlink(missing_ok=True)
    if not is_usable():
        create()
    install_locked(purpose)
    install_ours()
    STAMP.write_text(stamp_of(purpose))
    say(f"ready in {time.monotonic() - started:.0f} s")


def is_usable() -> bool:
    """Whether what a former build left can be built upon."""
    version = "import sys, pip; print(sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [PYTHON, "-c", version], check=False, capture_output=True, text=True
        )
    except OSError:
        return False
    return answer.stdout.strip() == str(sys.version_info[:2])


def create() -> None:
    if importlib.util.find_spec("ensurepip") is None:
        raise BuildFailed(
            f"{sys.executable} cannot make virtual environments: its ensurepip module is missing.\n"
            "On Debian and Ubuntu: apt install python3-venv"
        )
    say(f"creating {ENVIRONMENT.name} with Python {'.'.join(map(str, sys.version_info[:3]))}")
    venv.create(ENVIRONMENT, clear=True, symlinks=True, with_pip=True)


def install_locked(purpose: str) -> None:
    lock = lock_of(purpose)
    packages = sum("==" in line for line in lock.read_text().splitlines())
    say(f"installing up to {packages} packages for {purpose}")
    download = ("--retries", "5", "--timeout", "60")
    # The lock is complete. Asked for dependencies, pip stumbles over one with an extra, such as
    # psycopg[pool], as soon as there is a newer release than the locked one.
    wanted = ("--require-hashes", "--no-deps", "--requirement", str(lock))
    pip_with_retries("install", *download, *wanted)


def install_ours() -> None:
    say("installing todoke and shop from this folder")
    editable = ("--editable", str(ROOT), "--editable", str(ROOT / "shop"))
    failed = pip("install", "--no-build-isolation", "--no-deps", *editable)
    if failed:
        raise BuildFailed(f"todoke and shop could not be installed:\n{failed}")


def pip_with_retries(*arguments: str) -> None:
    for pause in (*PAUSES, None):
        failed = pip(*arguments)
        if not failed:
            return
        if pause is None:
            break
        say(f"the download failed; trying again in {pause} s")
        time.sleep(pause)
    raise BuildFailed(
        f"{failed}\n\nThe packages could not be downloaded, in {len(PAUSES) + 1} tries. "
        "Is there a network, and does `pip download idna` work here?"
    )


def pip(*arguments: str) -> str:
    """Runs pip; answers what it complained about, or nothing when it did its work."""
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
    command: Sequence[str] = (str(PYTHON), "-m", "pip", *arguments, *quiet)
    finished = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    if finished.returncode == 0:
        return ""
    return finished.stderr.strip() or f"pip ended with status {finished.returncode}"


def say(progress: str) -> None:
    print(f"environment: {progress}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
