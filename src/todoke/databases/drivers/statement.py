"""SQLAlchemy's statements as a driver takes them: a text, and parameters by name or by place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Dialect, make_url

from todoke.driver import Driver, Parameters


class Prepared:
    """One statement, compiled once."""

    def __init__(self, statement: Any, columns: list[str] | None, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=columns)
        self.text = str(compiled)
        self._compiled = compiled
        self._places: list[str] | None = compiled.positiontup if compiled.positional else None
        self._processors = dict(_processors(compiled, dialect))

    def parameters(self, values: Mapping[str, Any]) -> Parameters:
        bound = self._compiled.construct_params(values)
        for name, processor in self._processors.items():
            bound[name] = processor(bound[name])
        return bound if self._places is None else [bound[name] for name in self._places]


class Statements:
    """Keeps what it has prepared; the statements are few, and live as long as the application."""

    def __init__(self, driver: Driver) -> None:
        kind = make_url(f"{driver.dialect}://").get_dialect()
        self.dialect = kind(**({"paramstyle": driver.paramstyle} if driver.paramstyle else {}))
        self._prepared: dict[Any, Prepared] = {}

    def prepared(self, statement: Any, values: Mapping[str, Any] | None = None) -> Prepared:
        """`values` tell an INSERT its columns; they are the same ones each time."""
        found = self._prepared.get(statement)
        if found is None:
            columns = None if values is None else list(values)
            found = self._prepared[statement] = Prepared(statement, columns, self.dialect)
        return found


def _processors(compiled: Any, dialect: Dialect) -> list[tuple[str, Callable[[Any], Any]]]:
    made = [
        (name, parameter.type.dialect_impl(dialect).bind_processor(dialect))
        for parameter, name in compiled.bind_names.items()
    ]
    return [(name, processor) for name, processor in made if processor is not None]
