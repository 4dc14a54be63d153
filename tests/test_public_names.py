"""What users may lean on: these names and no others."""

from __future__ import annotations

import importlib

import pytest

import todoke

NAMES = [
    "Attempt", "Backoff", "Breaker", "BusinessError", "Context", "Done", "Event", "Job", "Key",
    "Limit", "Message", "Outcome", "PermanentError", "Personal", "Rate", "Reject", "Retry", "Run",
    "Settings", "Skip", "Snooze", "Todoke", "TodokeError", "TransientError", "Unique", "batch",
    "chain",
]  # fmt: skip
SUBMODULES = {
    "todoke.types": [
        "Answer",
        "BatchRef",
        "Call",
        "CallNext",
        "Chunks",
        "Duration",
        "ErrorClass",
        "Executor",
        "JobRef",
        "Middleware",
        "OnCrash",
        "Plan",
        "Repeat",
        "Tick",
    ],
    "todoke.fastapi": ["Answered", "Once", "StrictRoute", "idempotent", "install", "outcome_of"],
    "todoke.flask": ["install"],
    "todoke.prometheus": ["MetricsCollector", "metrics_app"],
    "todoke.operate": [
        "Accepted",
        "Age",
        "ArchiveFile",
        "Conflict",
        "Count",
        "DeadLetter",
        "DestinationRecord",
        "EventRecord",
        "Finding",
        "InProgress",
        "JobCounts",
        "JobOperation",
        "JobRecord",
        "LedgerEntry",
        "Operation",
        "Page",
        "Parked",
        "PauseRecord",
        "Replay",
        "Restored",
        "RunRecord",
        "ScheduleRecord",
        "Selection",
        "Status",
    ],
    "todoke.testing": ["Clock", "FaultyLine", "Harness"],
    "todoke.testing.conformance": ["DatabaseSuite", "ServedDatabaseSuite"],
}
# Names of types that are written with other types: Python keeps no docstring for them.
ALIASES = {"Answer", "CallNext", "Duration", "ErrorClass", "Executor", "Key", "Middleware",
           "OnCrash", "Outcome", "Personal", "Repeat"}  # fmt: skip


def test_the_package_exports_exactly_its_public_names() -> None:
    """api 2"""
    assert sorted(todoke.__all__) == NAMES
    assert not [name for name in NAMES if not hasattr(todoke, name)]


@pytest.mark.parametrize("name", sorted(SUBMODULES))
def test_a_submodule_exports_exactly_what_it_says(name: str) -> None:
    """api 2"""
    module = importlib.import_module(name)
    assert sorted(module.__all__) == SUBMODULES[name]
    assert not [one for one in module.__all__ if not hasattr(module, one)]
    assert module.__doc__


def test_every_public_name_says_what_it_is() -> None:
    """api 2"""
    public = [(todoke, name) for name in NAMES]
    for module, names in SUBMODULES.items():
        public += [(importlib.import_module(module), name) for name in names]
    assert not [name for of, name in public if name not in ALIASES and not own_docstring(of, name)]


def own_docstring(module: object, name: str) -> str | None:
    thing = getattr(module, name)
    doc: str | None = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    # A dataclass without words of its own is given its signature.
    return None if doc and doc.startswith(f"{name}(") else doc


def test_every_public_method_of_the_application_says_what_it_does() -> None:
    """api 2"""
    methods = {
        name: method
        for kind in (todoke.Todoke, todoke.Context)
        for name, method in vars(kind).items()
        if not name.startswith("_") and callable(method)
    }
    assert not [name for name, method in methods.items() if not method.__doc__]


def test_errors_are_public_and_documented() -> None:
    """api 3.11"""
    errors = importlib.import_module("todoke.errors")
    classes = [one for one in vars(errors).values() if isinstance(one, type)]
    ours = [one for one in classes if one.__module__.startswith("todoke.")]
    assert not [one.__name__ for one in ours if not one.__doc__]
    assert {"TodokeError", "InvalidOption", "LeaseLost"} <= {one.__name__ for one in ours}
