"""Tests of Django's tasks are collected where Django has tasks; where it has none, that is told."""

from __future__ import annotations

import django
import pytest

NEEDS_TASKS = "test_django_tasks.py"

collect_ignore = [] if django.VERSION >= (6,) else [NEEDS_TASKS]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if collect_ignore:
        terminalreporter.write_line(
            f"NOT COLLECTED: tests/web/{NEEDS_TASKS} — Django {django.__version__} has no tasks; "
            "they came with Django 6, which needs Python 3.12",
            yellow=True,
        )
