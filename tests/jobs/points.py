"""Crash points that only jobs pass; tests of jobs and of schedules die at each."""

from __future__ import annotations

OF_JOBS = ("enqueue.", "unique.", "job.", "chunk.", "report.", "forget.", "tick.", "keys.")
