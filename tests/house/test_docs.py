"""Runs every example of the README files and of docs/; `page.py` says how a page is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.house.page import Page
from tests.house.sources import ROOT, name_of, walk

FILES = [
    *(path for path in (ROOT / "README.md", ROOT / "README.ja.md") if path.exists()),
    *sorted(walk(ROOT / "docs", ".md")),
]
PAGES = [Page(name_of(path), path.read_text(encoding="utf-8")) for path in FILES]


@pytest.fixture(params=PAGES, ids=lambda page: page.name)
def page(request: pytest.FixtureRequest) -> Page:
    given = request.param
    assert isinstance(given, Page)
    return given


def test_the_examples_of_a_page_run(
    page: Page, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / page.program_name).write_text(page.program, encoding="utf-8")
    places = {
        f"{server.upper()}_URL": str(request.getfixturevalue(f"{server}_database"))
        for server in page.servers
    }
    if page.program.strip():
        run(sys.executable, page.program_name, folder=tmp_path, **places)
    for command in page.commands:
        run(*command, folder=tmp_path, **places)


def test_a_block_that_is_left_out_has_a_reason(page: Page) -> None:
    left_out = [block for block in page.blocks("python") if block.is_left_out]
    assert not [f"{page.name}:{each.line}" for each in left_out if not each.gives_reason]


def run(*command: str, folder: Path, **environment: str) -> None:
    finished = subprocess.run(
        command,
        check=False,
        cwd=folder,
        env={**clean_environment(), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, f"{' '.join(command)}\n{finished.stdout}"


def clean_environment() -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("TODOKE_")}
    programs = str(Path(sys.executable).parent)
    return {**inherited, "PATH": os.pathsep.join([programs, os.environ["PATH"]])}


EXAMPLE = Page(
    "docs/first-steps.md",
    dedent("""\
        Say it:
        ```python
        word = "arrived"
        ```
        <!-- not run: needs a broker -->
        ```python
        broker.send(word)
        ```
        1. Then:
           ```python
           assert word
           ```
        ```console
        $ todoke worker
        ```
        <!-- run -->
        ```console
        $ todoke check --strict  # twice
        all is well
        ```
        """),
)


def test_blocks_of_a_page_are_one_program_at_their_own_lines() -> None:
    assert EXAMPLE.program_name == "first_steps.py"
    lines = list(enumerate(EXAMPLE.program.splitlines(), start=1))
    assert [each for each in lines if each[1]] == [(3, 'word = "arrived"'), (11, "assert word")]


def test_only_marked_commands_are_run() -> None:
    assert EXAMPLE.commands == [["todoke", "check", "--strict"]]


def test_a_page_may_need_servers() -> None:
    assert Page("page.md", "<!-- servers: postgres mariadb -->\n").servers == [
        "postgres",
        "mariadb",
    ]
    assert EXAMPLE.servers == []


def test_a_page_may_name_its_program() -> None:
    assert Page("README.md", "<!-- program: quickstart.py -->\n").program_name == "quickstart.py"


@pytest.mark.parametrize("comment", ["<!-- not run -->", "<!-- not run: -->"])
def test_an_empty_reason_is_noticed(comment: str) -> None:
    (block,) = Page("page.md", f"{comment}\n```python\n```\n").blocks("python")
    assert block.is_left_out
    assert not block.gives_reason
