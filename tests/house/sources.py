"""What the house rules look at: our own files, and nothing that was installed or generated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PRODUCT = ("src", "shop/src")
TESTS = ("tests", "shop/tests")
ALL = (*PRODUCT, *TESTS, "bench", "tools", "examples")

NOT_OURS = frozenset({"__pycache__", "build", "dist", "node_modules", "var"})
NOT_TEXT = frozenset({".db", ".gif", ".ico", ".jpg", ".png", ".woff2", ".zip"})


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in walk(ROOT / folder, ".py"))


def text_files() -> list[Path]:
    return sorted(path for path in walk(ROOT) if path.suffix not in NOT_TEXT)


def walk(folder: Path, suffix: str = "") -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.is_dir() and not is_foreign(path):
            yield from walk(path, suffix)
        elif path.is_file() and path.name.endswith(suffix):
            yield path


def is_foreign(folder: Path) -> bool:
    return folder.name in NOT_OURS or (folder.name.startswith(".") and folder.name != ".ci")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)))


def called_name(node: ast.AST) -> str:
    """`time.sleep` for the call `time.sleep(1)`; nothing for what is no call of a plain name."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def imported_names(node: ast.AST) -> list[str]:
    """`["os.path"]` for `from os import path` and for `import os.path`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []
