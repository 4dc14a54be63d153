"""What a reader of the database's log gets to see of the outbox, change by change."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol

from sqlalchemy import Connection, Engine, text

OPERATIONS = {b"I": "c", b"U": "u", b"D": "d"}
UNCHANGED = "(unchanged)"


@dataclass(frozen=True)
class Change:
    """By Debezium's letters: c, u, d; a delete tells the key alone."""

    operation: str
    row: dict[str, str | None]


class Log(Protocol):
    def read(self) -> list[Change]:
        """What came since the last time."""


@contextmanager
def log_of(engine: Engine, publish: str = "insert, update, delete") -> Iterator[Log]:
    """From its beginning, which is now."""
    with (PostgresLog if engine.dialect.name == "postgresql" else MariaDbLog)(
        engine, publish
    ) as log:
        yield log


class PostgresLog:
    """Logical decoding by pgoutput, the plugin that Debezium uses."""

    def __init__(self, engine: Engine, publish: str) -> None:
        self._engine, self._publish = (
            engine.execution_options(isolation_level="AUTOCOMMIT"),
            publish,
        )
        self._name = f"log_{uuid.uuid4().hex}"

    def __enter__(self) -> PostgresLog:
        table = f"FOR TABLE todoke.outbox WITH (publish = '{self._publish}')"
        self._run(f"CREATE PUBLICATION {self._name} {table}")
        self._run(f"SELECT pg_create_logical_replication_slot('{self._name}', 'pgoutput')")
        return self

    def __exit__(self, *_: object) -> None:
        self._run(f"SELECT pg_drop_replication_slot('{self._name}')")
        self._run(f"DROP PUBLICATION {self._name}")

    def read(self) -> list[Change]:
        options = f"'proto_version', '1', 'publication_names', '{self._name}'"
        changes = f"pg_logical_slot_get_binary_changes('{self._name}', NULL, NULL, {options})"
        with self._engine.connect() as connection:
            messages = connection.execute(text(f"SELECT data FROM {changes}")).scalars().all()
        return list(decoded([bytes(one) for one in messages]))

    def _run(self, statement: str) -> None:
        with self._engine.connect() as connection:
            connection.execute(text(statement))


class MariaDbLog:
    """Triggers see the rows that a binary log in full row format would hold; tests have none."""

    def __init__(self, engine: Engine, _publish: str) -> None:
        self._engine, self._seen = engine, 0

    def __enter__(self) -> MariaDbLog:
        with self._engine.begin() as connection:
            columns = self._columns(connection)
            kept = ", ".join(f"`{name}` LONGTEXT" for name in columns)
            connection.execute(
                text(f"CREATE TABLE log (n INT AUTO_INCREMENT PRIMARY KEY, op CHAR, {kept})")
            )
            for word, letter, side in (
                ("INSERT", "c", "NEW"),
                ("UPDATE", "u", "NEW"),
                ("DELETE", "d", "OLD"),
            ):
                values = ", ".join(f"{side}.`{name}`" for name in columns)
                connection.execute(
                    text(
                        f"CREATE TRIGGER log_{word} AFTER {word} ON todoke_outbox FOR EACH ROW "
                        f"INSERT INTO log VALUES (NULL, '{letter}', {values})"
                    )
                )
        return self

    def __exit__(self, *_: object) -> None:
        pass  # gone with the database

    def read(self) -> list[Change]:
        with self._engine.connect() as connection:
            rows = connection.execute(
                text("SELECT * FROM log WHERE n > :seen ORDER BY n"), {"seen": self._seen}
            )
            found = [dict(row._mapping) for row in rows]
        self._seen += len(found)
        return [Change(row.pop("op"), row) for row in found if row.pop("n")]

    def _columns(self, connection: Connection) -> Sequence[str]:
        columns = text(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() "
            "AND table_name = 'todoke_outbox' ORDER BY ordinal_position"
        )
        return connection.execute(columns).scalars().all()


def decoded(messages: Sequence[bytes]) -> Iterator[Change]:
    """https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html"""
    columns: list[str] = []
    for message in messages:
        kind, rest = message[:1], BytesIO(message[1:])
        if kind == b"R":
            columns = _relation(rest)
        elif kind in OPERATIONS:
            yield Change(OPERATIONS[kind], _row(rest, columns))


def _relation(message: BytesIO) -> list[str]:
    message.read(4)
    _word(message), _word(message)
    message.read(1)
    columns = []
    for _ in range(_number(message, "!h")):
        message.read(1)
        columns.append(_word(message))
        message.read(8)
    return columns


def _row(message: BytesIO, columns: Sequence[str]) -> dict[str, str | None]:
    """The new one, or the key of the old one where there is no new one."""
    message.read(4)
    row: dict[str, str | None] = {}
    while message.read(1):
        row = {columns[place]: _value(message) for place in range(_number(message, "!h"))}
    return row


def _value(message: BytesIO) -> str | None:
    kind = message.read(1)
    if kind == b"t":
        return message.read(_number(message, "!i")).decode()
    return None if kind == b"n" else UNCHANGED


def _number(message: BytesIO, kind: str) -> int:
    (number,) = struct.unpack(kind, message.read(struct.calcsize(kind)))
    return int(number)


def _word(message: BytesIO) -> str:
    return b"".join(iter(lambda: message.read(1), b"\0")).decode()
