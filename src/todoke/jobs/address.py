"""Where a function is to be found by another process: its module, and its name in there.

Only addresses that were given out here are ever sent to one: no text from a row becomes a module.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from todoke.errors import InvalidOption

SCRIPT = "__todoke_script__"
"""What a script is called in another process; there its `if __name__ == "__main__":` stays shut."""

_REMEDY = "another process has to find it by its name. Write it as a `def` at the top of a module"

_given: set[tuple[str, str]] = set()


def address_of(function: Callable[..., Any]) -> tuple[str, str]:
    """Module, or path of the script, and qualified name; refuses what could not be found again."""
    name = getattr(function, "__qualname__", None)
    module = getattr(function, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str):
        raise InvalidOption("executor", "process", f"{function!r} has no name; {_REMEDY}.")
    if not all(part.isidentifier() for part in name.split(".")):
        raise InvalidOption("executor", "process", f"{module}.{name} is inside; {_REMEDY}.")
    address = (_script(name) if module == "__main__" else module, name)
    _given.add(address)
    return address


def was_given(module: str, name: str) -> bool:
    return (module, name) in _given


def find(module: str, name: str) -> Callable[..., Any]:
    """What lies at an address; of a declared job its function."""
    found: Any = _load(module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise InvalidOption(
                "executor",
                "process",
                f"{module} has no {name} when another process imports it. Write it as a `def` at "
                "the top of the module; restart the worker if the module has changed.",
            )
        found = getattr(found, part)
    function: Callable[..., Any] = getattr(found, "function", found)
    return function


def _script(name: str) -> str:
    main = sys.modules["__main__"]
    if (spec := getattr(main, "__spec__", None)) is not None:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file():
        raise InvalidOption("executor", "process", f"{name} was typed in; {_REMEDY}.")
    return str(Path(file).absolute())


def _load(module: str) -> ModuleType:
    if os.sep not in module:
        return importlib.import_module(module)
    loaded = sys.modules.get(SCRIPT)
    return loaded if loaded is not None and loaded.__file__ == module else _run_script(module)


def _run_script(path: str) -> ModuleType:
    spec = spec_from_file_location(SCRIPT, path)
    if spec is None or spec.loader is None:
        raise InvalidOption("executor", "process", f"{path} cannot be imported; {_REMEDY}.")
    module = sys.modules[SCRIPT] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[SCRIPT]
        raise
    return module
