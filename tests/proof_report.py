"""Writes what `--prove` has shown into docs/proof/report.md.

Each test is a row: its name read as a sentence, its result, its time, and the facts it noted with
pytest's own `record_property`, such as `record_property("kills", 1000)`.
"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

HEAD = """# Proof

Written by `make prove`, which takes hours: a run of some proofs keeps the rows of the others, and
each row tells the commit it was shown on. Edits are lost.

{when} · Python {python} · {system} {machine}, {processors} processors

| Promise | On | Result | Seconds | Commit | Facts |
|---|---|---|---|---|---|
"""
PLACE = 2
"""So many first cells tell which proof a row is of."""


class ProofReport:
    """Collects the result of every test and writes them as one page."""

    def __init__(self, page: Path, *, keep: bool) -> None:
        self._page, self._keep = page, keep
        self._rows: dict[tuple[str, ...], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            cells = cells_of(report)
            self._rows[cells[:PLACE]] = f"| {' | '.join(cells)} |\n"

    def pytest_sessionfinish(self) -> None:
        if self._rows:
            self._page.parent.mkdir(parents=True, exist_ok=True)
            rows = {**(kept(self._page) if self._keep else {}), **self._rows}
            self._page.write_text(head() + "".join(rows[place] for place in sorted(rows)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._rows:
            terminalreporter.write_line(f"report: {self._page}")


def head() -> str:
    return HEAD.format(
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        python=platform.python_version(),
        system=platform.system(),
        machine=platform.machine(),
        processors=os.cpu_count(),
    )


def kept(page: Path) -> dict[tuple[str, ...], str]:
    """The rows of a page that was written before, if it has the same columns."""
    text = page.read_text() if page.exists() else ""
    _, same, rows = text.partition(HEAD.rpartition("\n\n")[2])
    found = rows.splitlines(keepends=True) if same else []
    return {tuple(row.strip("| \n").split(" | ")[:PLACE]): row for row in found}


@cache
def commit() -> str:
    """The commit that was proved; marked where the tree held more than it and this report."""
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        more = _git("status", "--porcelain", "--", ".", ":!docs/proof")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}+changes" if more else name


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def cells_of(report: pytest.TestReport) -> tuple[str, ...]:
    name, _, parameters = report.nodeid.rpartition("::")[2].partition("[")
    promise, on = name.removeprefix("test_").replace("_", " "), parameters.removesuffix("]") or "-"
    facts = ", ".join(f"{key}: {value}" for key, value in report.user_properties) or "-"
    cells = (promise, on, report.outcome, f"{report.duration:.1f}", commit(), facts)
    return tuple(cell.replace("|", "/") for cell in cells)


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("prove") and not is_worker:
        page = config.rootpath / "docs" / "proof" / "report.md"
        some = bool(config.option.keyword) or config.args != ["tests/proof"]
        config.pluginmanager.register(ProofReport(page, keep=some), "proof-report")
