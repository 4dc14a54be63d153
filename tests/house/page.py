"""Reads a Markdown page as what it tells its reader to run.

All `python` blocks of a page are one program, in their order, so that blocks can build upon each
other. It is called after the page (`first-steps.md` is `first_steps.py`). Comments change that:

    <!-- program: quickstart.py -->    anywhere: calls the program so
    <!-- not run: needs a broker -->   directly above a `python` block: leaves it out, with a reason
    <!-- run -->                       directly above a `console` block: runs its `$ todoke …` lines
    <!-- servers: postgres mariadb --> anywhere: the program finds a fresh database of each at
                                       POSTGRES_URL and MARIADB_URL
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)")
PROGRAM = re.compile(r"^<!-- program: (?P<name>\w+\.py) -->$", re.MULTILINE)
SERVERS = re.compile(r"^<!-- servers: (?P<names>[a-z ]+) -->$", re.MULTILINE)
NOT_RUN = re.compile(r"^<!-- not run:(?P<reason>.*)-->$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block; `line` is that of its opening fence, counted from 1."""

    language: str
    above: str
    line: int
    lines: Sequence[str]

    @property
    def is_left_out(self) -> bool:
        return self.above.startswith("<!-- not run")

    @property
    def gives_reason(self) -> bool:
        match = NOT_RUN.match(self.above)
        return bool(match and match["reason"].strip())


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    name: str
    text: str

    @property
    def program_name(self) -> str:
        if named := PROGRAM.search(self.text):
            return named["name"]
        return re.sub(r"\W", "_", Path(self.name).stem.lower()) + ".py"

    @property
    def servers(self) -> list[str]:
        named = SERVERS.search(self.text)
        return named["names"].split() if named else []

    @property
    def program(self) -> str:
        """Its Python, each line at its own number, so that a traceback points into the page."""
        program = [""] * len(self.text.splitlines())
        for block in self.blocks("python"):
            if not block.is_left_out:
                program[block.line : block.line + len(block.lines)] = block.lines
        return "\n".join(program) + "\n"

    @property
    def commands(self) -> list[list[str]]:
        return [
            shlex.split(line.removeprefix("$ "), comments=True)
            for block in self.blocks("console")
            if block.above == "<!-- run -->"
            for line in block.lines
            if line.startswith("$ todoke")
        ]

    def blocks(self, language: str) -> Iterator[Block]:
        return (block for block in read_blocks(self.text) if block.language == language)


def read_blocks(text: str) -> Iterator[Block]:
    lines = text.splitlines()
    numbered = iter(enumerate(lines))
    for number, line in numbered:
        if fence := FENCE.match(line):
            yield Block(
                language=fence["language"],
                above=lines[number - 1].strip() if number else "",
                line=number + 1,
                lines=list(read_until_closed(numbered, fence["indent"])),
            )


def read_until_closed(numbered: Iterator[tuple[int, str]], indent: str) -> Iterator[str]:
    for _, line in numbered:
        inner = line.removeprefix(indent)
        if inner.rstrip() == "```":
            return
        yield inner
