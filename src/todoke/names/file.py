"""The file in which names are recorded: JSON for people and for version control."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from todoke.errors import InvalidOption
from todoke.message import told
from todoke.names.declared import Names

NAMES_FILE = "todoke.names.json"


def read(file: Path) -> Names | None:
    """What was recorded; None where nothing was."""
    try:
        return Names.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise InvalidOption(
            f"names file {file}",
            "…",
            f"it cannot be read: {told(error)}. Take it from version control again.",
        ) from error


def write(file: Path, names: Names) -> None:
    """One item a line, in a lasting order, so that a difference shows what changed."""
    text = json.dumps(names.model_dump(), ensure_ascii=False, indent=2, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")
