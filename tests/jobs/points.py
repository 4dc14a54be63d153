"""Crash points that only jobs pass; `test_crashes.py` and tests of schedules die at each."""

from __future__ import annotations

OF_JOBS = ("enqueue.", "unique.", "job.", "chunk.", "report.", "forget.", "tick.", "keys.")
