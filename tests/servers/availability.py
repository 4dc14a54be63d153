"""Makes a missing server loud: its tests are skipped, counted and named at the end of the run.

A server named in TODOKE_REQUIRED_SERVERS (names separated by spaces) must not be missing: the run
then fails.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest
from _pytest.outcomes import Skipped

SERVERS = frozenset({"postgres", "mariadb", "mysqlclient", "pgbouncer", "sshd", "tmpfs"})
PROPERTY = "unavailable_server"


class ServerUnavailable(Skipped):
    """Skips the test that asked for a server which cannot be had here."""

    def __init__(self, server: str, reason: str) -> None:
        self.server = server
        self.reason = reason
        super().__init__(f"{server} is not available: {reason}")


class MissingServers:
    """Counts the tests that each missing server cost."""

    def __init__(self, required: frozenset[str]) -> None:
        self._required = required
        self._skipped: Counter[tuple[str, str]] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY:
                server, _, reason = str(value).partition(": ")
                self._skipped[server, reason] += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._failures() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._skipped:
            return
        terminalreporter.section("SERVERS NOT AVAILABLE", yellow=True, bold=True)
        for (server, reason), tests in sorted(self._skipped.items()):
            line = f"SERVERS NOT AVAILABLE: {server} — {reason} ({tests} tests skipped)"
            terminalreporter.write_line(line, yellow=True)
        for server in self._failures():
            line = f"FAILED: TODOKE_REQUIRED_SERVERS names {server}, which was not available"
            terminalreporter.write_line(line, red=True, bold=True)

    def _failures(self) -> list[str]:
        return sorted(self._required & {server for server, _ in self._skipped})


def pytest_configure(config: pytest.Config) -> None:
    required = frozenset(os.environ.get("TODOKE_REQUIRED_SERVERS", "").split())
    if unknown := required - SERVERS:
        raise pytest.UsageError(
            f"TODOKE_REQUIRED_SERVERS names {', '.join(sorted(unknown))}; "
            f"known are: {', '.join(sorted(SERVERS))}"
        )
    config.pluginmanager.register(MissingServers(required), "missing-servers")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, ServerUnavailable):
        missing = call.excinfo.value
        report.user_properties.append((PROPERTY, f"{missing.server}: {missing.reason}"))
    return report
