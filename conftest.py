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
    """What is loaded by now stays: the collector need not look through it after every test.

    Nor so often: it took a sixth of the time. A worker process needs a third more memory for that.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
