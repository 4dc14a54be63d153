"""Guards the shape of the house: sizes, names, and what may not stand in it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.sources import (
    ALL,
    PRODUCT,
    ROOT,
    TESTS,
    called_name,
    imported_names,
    name_of,
    nodes,
    python_files,
    text_files,
)

LONGEST_MODULE = 400
BUCKETS = frozenset({"utils", "helpers", "common", "base", "manager", "misc"})
SLEEPS = frozenset({"time.sleep", "asyncio.sleep", "anyio.sleep"})
UNSAFE_MODULES = frozenset({"cloudpickle", "dill", "marshal", "pickle", "shelve"})
UNSAFE_CALLS = frozenset({"eval", "exec"})
# In pieces, or this file would break its own rule.
REGISTRIES = tuple(
    ".".join(pieces)
    for pieces in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs"),
        ("registry", "yarnpkg"),
        ("repo", "maven", "apache"),
        ("repo1", "maven"),
        ("proxy", "golang"),
    )
)
INDEX_OPTIONS = ("--index-url", "--extra-index-url", "--find-links", "--trusted-host")


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {name_of(path): len(lines_of(path)) for path in python_files(*ALL)}
    assert not {name: length for name, length in lengths.items() if length > LONGEST_MODULE}


def test_no_module_or_folder_is_a_bucket() -> None:
    paths = [path.relative_to(ROOT) for path in python_files(*ALL)]
    assert not [str(path) for path in paths if BUCKETS & {part_of(part) for part in path.parts}]


def test_tests_never_sleep() -> None:
    assert not [
        f"{name_of(path)}:{getattr(node, 'lineno', 0)}"
        for path in python_files(*TESTS)
        for node in nodes(path)
        if sleeps(node)
    ]


def test_the_product_reads_no_executable_data() -> None:
    assert not [
        f"{name_of(path)}:{getattr(node, 'lineno', 0)}"
        for path in python_files(*PRODUCT)
        for node in nodes(path)
        if is_unsafe(node)
    ]


def test_no_file_names_a_package_registry() -> None:
    assert not [
        f"{name_of(path)}: {registry}"
        for path in text_files()
        for registry in REGISTRIES
        if registry in path.read_text(encoding="utf-8", errors="replace")
    ]


def test_locks_hold_no_address() -> None:
    locks = sorted((ROOT / "requirements").iterdir())
    assert locks
    assert not [
        f"{name_of(lock)}: {line}"
        for lock in locks
        for line in lines_of(lock)
        if "://" in line or "file:" in line or line.startswith(INDEX_OPTIONS)
    ]


def test_every_locked_package_has_a_hash() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        pins = lock.read_text(encoding="utf-8").replace("\\\n", "").splitlines()
        assert not [pin for pin in pins if "==" in pin and "--hash=sha256:" not in pin]


def test_the_tests_of_the_shop_are_no_package() -> None:
    # They would be a second package called `tests`.
    assert not list((ROOT / "shop" / "tests").rglob("__init__.py"))


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def part_of(name: str) -> str:
    return name.removesuffix(".py").strip("_")


def sleeps(node: ast.AST) -> bool:
    if called_name(node) == "asyncio.sleep" and isinstance(node, ast.Call):
        return ast.unparse(node.args[0]) != "0" if node.args else True
    # `from time import sleep` would hide the call from this rule.
    return called_name(node) in SLEEPS or bool(SLEEPS & set(imported_names(node)))


def is_unsafe(node: ast.AST) -> bool:
    modules = {name.partition(".")[0] for name in imported_names(node)}
    return called_name(node) in UNSAFE_CALLS or bool(UNSAFE_MODULES & modules)
