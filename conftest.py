pytest_plugins = [
    "tests.counts",
    "tests.proof_report",
    "tests.servers.availability",
    "tests.servers.fixtures",
]
