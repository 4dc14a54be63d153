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
        self.text: str = str(compiled)
        named = {name: bound for bound, name in compiled.bind_names.items()}
        self._by_place = bool(compiled.positional)
        names = compiled.positiontup if self._by_place else named
        self._bound = [(name, named[name], _processor(named[name], dialect)) for name in names]

    def parameters(self, values: Mapping[str, Any]) -> Parameters:
        """Those of the values, and those that the statement brings along."""
        found = [processor(_value(bound, values)) for _, bound, processor in self._bound]
        if self._by_place:
            return found
        return {name: one for (name, _, _), one in zip(self._bound, found, strict=True)}


class Statements:
    """Keeps what it has prepared; the statements are few, and live as long as the application."""

    def __init__(self, driver: Driver) -> None:
        kind = make_url(f"{driver.dialect}://").get_dialect()
        self.dialect: Dialect = kind(
            **({"paramstyle": driver.paramstyle} if driver.paramstyle else {})
        )
        self._prepared: dict[Any, Prepared] = {}

    def prepared(self, statement: Any, values: Mapping[str, Any] | None = None) -> Prepared:
        """`values` tell an INSERT its columns; they are the same ones each time."""
        found = self._prepared.get(statement)
        if found is None:
            columns = None if values is None else list(values)
            found = self._prepared[statement] = Prepared(statement, columns, self.dialect)
        return found


def _processor(bound: Any, dialect: Dialect) -> Callable[[Any], Any]:
    return bound.type.dialect_impl(dialect).bind_processor(dialect) or _as_it_is


def _value(bound: Any, values: Mapping[str, Any]) -> Any:
    try:
        return values[bound.key]
    except KeyError:
        return bound.effective_value  # a figure in its text, or the moment of a test's clock


def _as_it_is(value: Any) -> Any:
    return value
