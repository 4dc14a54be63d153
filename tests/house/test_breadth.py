"""`make test` runs a test on one of its databases, `--every-database` on all."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from tests.breadth import DATABASES, spare, without_database

THREE = sorted(DATABASES - {"throwaway"})


def item(place: str, *words: str) -> Any:
    params = dict(enumerate(words))
    return SimpleNamespace(
        nodeid=f"{place}[{'-'.join(words)}]", callspec=SimpleNamespace(params=params)
    )


def left(items: list[Any]) -> list[Any]:
    spared = list(spare(items))
    return [one for one in items if one not in spared]


def test_one_of_those_that_differ_in_their_database_is_left() -> None:
    """the same one each time, and every other word makes another test"""
    items = [
        item("tests/work/test_x.py::test_a", database, word) for database in THREE for word in "ab"
    ]
    kept = left(items)
    assert sorted(without_database(one) or "" for one in kept) == [
        "tests/work/test_x.py::test_a[a]",
        "tests/work/test_x.py::test_a[b]",
    ]
    assert kept == left(items)


def test_each_database_gets_its_share() -> None:
    """of many tests none is left out"""
    names = [f"tests/work/test_x.py::test_{number}" for number in range(300)]
    kept = left([item(name, database) for name in names for database in THREE])
    shares = Counter(one.callspec.params[0] for one in kept)
    assert shares.total() == 300
    assert min(shares[database] for database in THREE) > 70


def test_what_has_no_database_and_what_compares_them_is_not_spared() -> None:
    """tests/databases and the proofs run on all"""
    items = [item("tests/databases/test_x.py::test_a", database) for database in THREE] + [
        item("tests/proof/test_x.py::test_a", database) for database in THREE
    ]
    items += [item("tests/work/test_x.py::test_a", "sqlite copied"), SimpleNamespace(nodeid="a::b")]
    assert left(items) == items
