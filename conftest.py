import gc
import signal

# A shell's background job ignores both, and so would every program that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

pytest_plugins = [
    "pytest_todoke",
    "tests.breadth",
    "tests.counts",
    "tests.proof_report",
    "tests.servers.availability",
    "tests.servers.fixtures",
    "tests.servers.migrated",
]


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look through it after every test."""
    gc.collect()
    gc.freeze()
