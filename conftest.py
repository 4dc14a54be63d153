import signal

# A shell's background job ignores Ctrl-C, and so would every program that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = [
    "tests.counts",
    "tests.proof_report",
    "tests.servers.availability",
    "tests.servers.fixtures",
    "tests.servers.migrated",
]
