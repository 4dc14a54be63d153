"""Guards which way imports point; the rules stand in pyproject.toml under importlinter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.house.sources import ROOT


def test_imports_point_one_way() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    finished = subprocess.run(
        [program, "--no-cache", "--no-logo"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
