"""The demo runs the whole shop, shows mail, and leaves nothing behind."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

LIMIT = 120

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches processes by /proc")


@contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    ports = ["--web-port", "0", "--mail-port", "0", "--smtp-port", "0"]
    ports += ["--broker-port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "shop.demo", *ports, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What the demo prints, up to the line with this text."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return "".join(lines)
    raise AssertionError("the demo ended before that:\\n" + "".join(lines))


@dataclass(frozen=True)
class Child:
    """Somebody else's child: it can be watched, not waited for."""

    pid: int
    command: str
    handle: int

    def ends(self) -> bool:
        ended, _, _ = select.select([self.handle], [], [], LIMIT)
        os.close(self.handle)
        return bool(ended)


def below(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for found in lists for child in found.read_text().split()]
    return children + [grandchild for child in children for grandchild in below(child)]


def children_of(process: subprocess.Popen[str]) -> list[Child]:
    """Mail catcher, paper broker, web, worker, and the process that the worker keeps running."""
    found = [
        Child(pid, Path(f"/proc/{pid}/cmdline").read_text(), os.pidfd_open(pid))
        for pid in below(process.pid)
    ]
    assert len(found) == 5
    return found


def test_once_shows_the_first_mails_and_ends(tmp_path: Path) -> None:
    """SH-4, SH-1, SH-7, SH-8, SH-9, SH-12"""
    with demo(tmp_path, "--once") as process:
        shown, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, shown
    assert "mail to hanako@example.com: ご注文確認 - " in shown
    assert "mail to taro@example.com: Order confirmed - " in shown
    assert "is PROCESSED (guest order)" in shown
    assert "409 INVALID_STATUS_TRANSITION" in shown
    assert "409 OUT_OF_STOCK" in shown
    assert "-000001.csv with 3 shipments" in shown
    assert len(list((tmp_path / "var" / "sent").glob("*.csv"))) == 1
    assert "from the broker: 202" in shown
    assert "has succeeded: PB-00000001" in shown
    assert (tmp_path / "var" / "shop.db").exists()


def test_a_second_run_goes_on_with_the_same_database(tmp_path: Path) -> None:
    """SH-1"""
    for _ in range(2):
        with demo(tmp_path, "--once") as process:
            shown, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, shown
    assert "is PROCESSED" in shown


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_end_it_stops_everything(tmp_path: Path, signal_number: int) -> None:
    """SH-1"""
    with demo(tmp_path) as process:
        read_until(process, "mail to taro")
        children = children_of(process)
        process.send_signal(signal_number)
        shown, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, shown
        assert all(child.ends() for child in children)


def test_killed_it_leaves_no_process_behind(tmp_path: Path) -> None:
    """SH-1"""
    with demo(tmp_path) as process:
        read_until(process, "mail to taro")
        children = children_of(process)
        process.kill()
        assert all(child.ends() for child in children)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("mail", "shop.mailbox"),
        ("broker", "shop.paper_broker"),
        ("web", "shop.web.main:web"),
        ("worker", "shop.app:app"),
    ],
)
def test_a_child_that_dies_is_shown_and_ends_the_rest(
    tmp_path: Path, name: str, argument: str
) -> None:
    """SH-1"""
    with demo(tmp_path) as process:
        read_until(process, "mail to taro")
        children = children_of(process)
        victim = next(child for child in children if argument in child.command)
        os.kill(victim.pid, signal.SIGKILL)
        shown, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 1
        assert f"{name} ended with exit code -9" in shown
        assert all(child.ends() for child in children)
