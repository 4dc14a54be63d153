"""What type checkers tell users: nothing about a right program, and where a wrong one is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.house.sources import ROOT
from tests.typing.mistakes import MISTAKES

SAMPLES = Path(__file__).with_name("samples.py")
MARK = "# <-"


def test_a_right_program_passes_and_each_mistake_is_reported_on_its_line(
    tmp_path: Path, checker: Callable[[Path], set[int]]
) -> None:
    """api 2, 7: by both checkers, in their strict mode"""
    assert len(MISTAKES) >= 20
    program = tmp_path / "program.py"
    program.write_text(SAMPLES.read_text("utf-8") + "\n\n" + "\n".join(MISTAKES.values()), "utf-8")
    lines = dict(enumerate(program.read_text("utf-8").splitlines(), start=1))
    reported = checker(program)
    assert {lines[one] for one in reported} == {one for one in lines.values() if MARK in one}
    assert reported == {number for number, line in lines.items() if MARK in line}


def test_every_public_name_has_a_known_type() -> None:
    """api 2: none unknown, none that checkers would have to guess

    `todoke.django` is an app of Django's, which declares models and migrations in its own way.
    """
    answer = pyright("--verifytypes", "todoke", "--ignoreexternal", folder=ROOT)
    found = answer["typeCompleteness"]
    assert Path(found["pyTypedPath"]).name == "py.typed"
    vague = [
        one["name"]
        for one in found["symbols"]
        if one["isExported"] and (not one["isTypeKnown"] or one["isTypeAmbiguous"])
    ]
    assert len(found["symbols"]) > 1000
    assert not [name for name in vague if not name.startswith("todoke.django.")]


@pytest.fixture(params=["mypy", "pyright"])
def checker(request: pytest.FixtureRequest) -> Callable[[Path], set[int]]:
    return {"mypy": by_mypy, "pyright": by_pyright}[request.param]


def by_mypy(program: Path) -> set[int]:
    # Not the repository's settings: a user may have neither them nor pydantic's plugin.
    cache = ROOT / ".mypy_cache" / "typing"
    options = ["--strict", "--config-file=", f"--cache-dir={cache}", "--no-error-summary"]
    finished = run(program.parent, "mypy", *options, "--hide-error-context", program.name)
    assert finished.stderr == ""
    return {int(line) for line in re.findall(r"^program\.py:(\d+): error: ", finished.stdout, re.M)}


def by_pyright(program: Path) -> set[int]:
    (program.parent / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', "utf-8")
    answer = pyright(program.name, folder=program.parent)
    return {
        one["range"]["start"]["line"] + 1
        for one in answer["generalDiagnostics"]
        if one["severity"] == "error"
    }


def pyright(*arguments: str, folder: Path) -> dict[str, Any]:
    finished = run(folder, "pyright", "--outputjson", *arguments)
    answer: dict[str, Any] = json.loads(finished.stdout)
    return answer


def run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    programs = Path(sys.executable).parent
    # pyright asks the first `python` it finds for the packages, and else tells of newer versions.
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    return subprocess.run(
        [programs / program, *arguments],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
