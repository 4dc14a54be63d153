"""Many rows in one COPY, in PostgreSQL's binary form: nothing to escape, and nothing to parse.

The driver would look up how to write each value; here each column has its way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, islice, repeat
from struct import Struct
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Dialect,
    Integer,
    SmallInteger,
    String,
    Table,
    Uuid,
)

from todoke.database import Moment
from todoke.databases.postgres_direct import errors_of
from todoke.writing import Copy

Way: TypeAlias = Callable[[Any], bytes]

_AT_ONCE = 64
"""Rows that are handed to the driver together."""
_BEGINNING, _END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_NOTHING = b"\xff\xff\xff\xff"
_COUNT, _LENGTH = Struct(">h"), Struct(">i")
_EPOCH, _MICROSECOND = datetime(2000, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def copy(connection: Connection, rows: Copy) -> None:
    """Write rows in their order, on a SQLAlchemy Connection."""
    driver: Any = connection.connection.driver_connection
    streaming = prepared(rows, connection.dialect, driver.info.encoding)
    with errors_of(connection, streaming.statement):
        adapted: Any = connection.connection.dbapi_connection
        if connection.dialect.is_async:
            adapted.run_async(lambda driver: send_async(driver, streaming))
        else:
            send(adapted, streaming)


class Streaming(NamedTuple):
    """The statement, and what follows it."""

    statement: str
    pieces: Iterator[bytes]
    may_stop: bool


def prepared(rows: Copy, dialect: Dialect, encoding: str) -> Streaming:
    several = iter(rows.rows)
    first = next(several)
    preparer = dialect.identifier_preparer
    names = [*first[0], *rows.own]
    columns = ", ".join(map(preparer.quote, names))
    table = preparer.format_table(rows.table)
    statement = f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)"
    ways = [_way_of(rows.table, name, encoding) for name in names]
    shared = len(first[0])
    pieces = _pieces(chain([first], several), ways[:shared], ways[shared:])
    return Streaming(statement, pieces, rows.may_stop)


def send(driver: Any, streaming: Streaming) -> None:
    statement, pieces, may_stop = streaming
    with (
        driver.transaction() if may_stop else nullcontext(),  # a savepoint, inside another
        driver.cursor() as cursor,
        cursor.copy(statement) as sink,
    ):
        for piece in pieces:
            sink.write(piece)


async def send_async(driver: Any, streaming: Streaming) -> None:
    statement, pieces, may_stop = streaming
    async with (
        driver.transaction() if may_stop else nullcontext(),
        driver.cursor() as cursor,
        cursor.copy(statement) as sink,
    ):
        for piece in pieces:
            await sink.write(piece)


def _pieces(
    rows: Iterator[tuple[Mapping[str, Any], Sequence[Any]]],
    ways: Sequence[Way],
    own_ways: Sequence[Way],
) -> Iterator[bytes]:
    count = _COUNT.pack(len(ways) + len(own_ways))
    heads: dict[int, bytes] = {}
    yield _BEGINNING
    while some := list(islice(rows, _AT_ONCE)):
        for shared, _ in some:
            if id(shared) not in heads:
                fields = map(_field, ways, shared.values())
                heads[id(shared)] = b"".join([count, *fields])
        first = [heads[id(shared)] for shared, _ in some]
        # Column by column: most are of one type, and many have no value at all.
        columns = zip(*[own for _, own in some], strict=True)
        rest = [_fields(way, column) for way, column in zip(own_ways, columns, strict=True)]
        yield b"".join(chain.from_iterable(zip(first, *rest, strict=False)))
    yield _END


def _fields(write: Way, column: Sequence[Any]) -> Iterable[bytes]:
    kinds = set(map(type, column))
    if NoneType not in kinds:
        return map(write, column)
    return repeat(_NOTHING) if len(kinds) == 1 else map(_field, repeat(write), column)


def _field(write: Way, value: Any) -> bytes:
    return _NOTHING if value is None else write(value)


def _way_of(table: Table, name: str, encoding: str) -> Way:
    """How a column's values are written, each after its length."""
    kind = table.c[name].type
    if isinstance(kind, String):
        return _text_in(encoding)
    return next(way for one, way in _WAYS.items() if isinstance(kind, one))


def _text_in(encoding: str) -> Way:
    length = _LENGTH.pack

    def write(value: str) -> bytes:
        written = value.encode(encoding)
        return length(len(written)) + written

    return write


def _number(form: str) -> Way:
    packing = Struct(f">i{form}")
    return partial(packing.pack, packing.size - _LENGTH.size)


_large = _number("q")

# A smaller kind of number is also an Integer: the first that fits is meant.
_WAYS: dict[type, Way] = {
    BigInteger: _large,
    SmallInteger: _number("h"),
    Integer: _number("i"),
    Boolean: _number("?"),
    Uuid: lambda value: b"\0\0\0\x10" + value.bytes,
    Moment: lambda value: _large((value - _EPOCH) // _MICROSECOND),
}
