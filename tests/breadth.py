"""On how many databases a test runs: on one of those it is written for, or on each of them.

With `--every-database`, as in continuous integration, each test runs on all its databases. Without,
a test that would run on several runs on one, which its name decides: always the same, and each
database gets its share of every module. What shows that databases answer alike, and the proofs, run
on all of them either way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from zlib import crc32

import pytest

DATABASES = frozenset({"sqlite", "postgres", "mariadb", "throwaway"})
ALWAYS_ALL = ("tests/databases/", "tests/proof/", "tests/servers/")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-database", action="store_true", help="run each test on all its databases"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked_for = any("::" in argument for argument in config.args)
    if asked_for or config.option.keyword or config.getoption("every_database"):
        return
    spared = set(spare(items))
    config.hook.pytest_deselected(items=list(spared))
    items[:] = [item for item in items if item not in spared]


def spare(items: Iterable[pytest.Item]) -> Iterable[pytest.Item]:
    """Those that do the same as another on another database."""
    alike: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        name = without_database(item)
        if name is not None and not item.nodeid.startswith(ALWAYS_ALL):
            alike[name].append(item)
    for name, several in alike.items():
        chosen = crc32(name.encode()) % len(several)
        yield from (item for number, item in enumerate(several) if number != chosen)


def without_database(item: pytest.Item) -> str | None:
    """The test's name without that of its database; None where it has none."""
    call = getattr(item, "callspec", None)
    if call is None:
        return None
    words = [str(value) for value in call.params.values()]
    of_databases = [word for word in words if word in DATABASES]
    if not of_databases:
        return None
    before, _, parameters = item.nodeid.partition("[")
    left = [one for one in parameters.rstrip("]").split("-") if one not in of_databases]
    return f"{before}[{'-'.join(left)}]"
