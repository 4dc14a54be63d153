"""Writes what `--prove` has shown into docs/proof/report.md.

Each test is a row: its name read as a sentence, its result, its time, and the facts it noted with
pytest's own `record_property`, such as `record_property("kills", 1000)`.
"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

HEAD = """# Proof

Written by `make prove`; edits are lost.

{when} · commit {commit} · Python {python} · {system} {machine}, {processors} processors

| Promise | On | Result | Seconds | Facts |
|---|---|---|---|---|
"""


class ProofReport:
    """Collects the result of every test and writes them as one page."""

    def __init__(self, page: Path) -> None:
        self._page = page
        self._rows: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self._rows.append(row(report))

    def pytest_sessionfinish(self) -> None:
        if self._rows:
            self._page.parent.mkdir(parents=True, exist_ok=True)
            self._page.write_text(head() + "".join(sorted(self._rows)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._rows:
            terminalreporter.write_line(f"report: {self._page}")


def head() -> str:
    return HEAD.format(
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        commit=commit(),
        python=platform.python_version(),
        system=platform.system(),
        machine=platform.machine(),
        processors=os.cpu_count(),
    )


def commit() -> str:
    """The commit that was proved; marked where the tree held more than it."""
    told = ["git", "describe", "--always", "--dirty=+changes", "--abbrev=12"]
    try:
        return subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def row(report: pytest.TestReport) -> str:
    name, _, parameters = report.nodeid.rpartition("::")[2].partition("[")
    promise = name.removeprefix("test_").replace("_", " ")
    facts = ", ".join(f"{key}: {value}" for key, value in report.user_properties)
    cells = (promise, parameters.removesuffix("]"), report.outcome, f"{report.duration:.1f}", facts)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("prove") and not is_worker:
        page = config.rootpath / "docs" / "proof" / "report.md"
        config.pluginmanager.register(ProofReport(page), "proof-report")
