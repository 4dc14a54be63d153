"""The outbox fits Debezium's outbox event router; Debezium itself is not run.

The router's wishes are those of its documentation: the configurations of docs/debezium.md are read,
and what they name is looked up in the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import inspect, text

from tests.application import Placed, Shipped, application, letters, publish
from tests.databases.changes import UNCHANGED, Change, log_of
from tests.house.page import Page
from tests.house.sources import ROOT
from todoke import Attempt, Backoff, PermanentError, Todoke, TransientError
from todoke.operate import Selection
from todoke.testing import Clock

ROUTER = "transforms.outbox."
TEXTS = ("VARCHAR", "CHAR", "TEXT", "LONGTEXT", "UUID")


@pytest.fixture(params=["postgres", "mariadb"])
def app(request: pytest.FixtureRequest) -> Iterator[Todoke]:
    with application(request.getfixturevalue(f"{request.param}_copy")) as app:
        yield app


PAGE = Page("debezium.md", (ROOT / "docs" / "debezium.md").read_text(encoding="utf-8"))


def configuration(app: Todoke) -> dict[str, str]:
    """That of the page for this kind of database."""
    read = [json.loads("\n".join(block.lines)) for block in PAGE.blocks("json")]
    kind = "postgresql" if app.database.kind == "postgresql" else "mariadb"
    (found,) = [one for one in read if f".{kind}." in one["connector.class"]]
    return dict(found)


def option(app: Todoke, name: str) -> str:
    return configuration(app)[ROUTER + name]


def columns(app: Todoke) -> dict[str, Any]:
    table = app.outbox_table.live
    found = inspect(app.engine).get_columns(table.name, schema=table.schema)
    return {one["name"]: one for one in found}


def kind_of(column: Any) -> str:
    return str(column["type"]).partition("(")[0].partition(" ")[0].upper()


def test_the_table_is_the_one_that_is_captured(app: Todoke) -> None:
    """OB-14"""
    named = configuration(app)["table.include.list"]
    table = app.outbox_table.live
    assert named.rpartition(".")[2] == table.name
    if app.database.kind == "postgresql":
        assert named == f"{table.schema}.{table.name}"


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("table.field.event.id", TEXTS),
        ("table.field.event.key", TEXTS),
        ("table.field.event.payload", TEXTS),
        ("table.field.event.schema.version", ("INTEGER",)),
        ("route.by.field", TEXTS),
    ],
)
def test_each_column_of_the_router_is_there_and_never_null(
    app: Todoke, name: str, kinds: tuple[str, ...]
) -> None:
    """OB-14: of a type that the router takes; a schema's version is read as INT32"""
    column = columns(app)[option(app, name)]
    assert not column["nullable"]
    assert kind_of(column) in kinds


def test_further_headers_are_never_null(app: Todoke) -> None:
    """OB-14: type and context travel beside the payload"""
    placed = option(app, "table.fields.additional.placement").split(",")
    assert [one.partition(":")[0] for one in placed] == ["type", "context"]
    for one in placed:
        assert not columns(app)[one.partition(":")[0]]["nullable"]


def test_the_time_of_an_event_fits_on_mariadb_alone(app: Todoke) -> None:
    """OB-14: with a time zone, Debezium hands it over as text, which the router refuses"""
    created = columns(app)["created_at"]["type"]
    said = configuration(app).get(ROUTER + "table.field.event.timestamp")
    if app.database.kind == "postgresql":
        assert created.timezone
        assert said is None
    else:
        assert (kind_of(columns(app)["created_at"]), created.fsp) == ("DATETIME", 6)
        assert said == "created_at"


def test_a_row_is_inserted_once_with_its_final_payload(app: Todoke) -> None:
    """OB-14: whatever workers do to it, what the router needs stands in the first change"""

    @app.on(Placed, retry=Backoff("1s"))
    def stumble(event: Placed, attempt: Attempt) -> None:
        if attempt.number == 1:
            raise TransientError("stumbled")

    @app.on(Shipped)
    def take(event: Shipped) -> None: ...

    with log_of(app.engine) as log:
        publish(app, Placed(order_id=7, note="届け"), Shipped(order_id=8))
        worked(app)
        changes = log.read()
    first, second = [change.row for change in changes if change.operation == "c"]
    assert routed(app, first) == ("7", "placed", '{"note":"届け","order_id":7}', "1")
    assert routed(app, second)[1:] == ("shipped", '{"order_id":8}', "1")
    assert second["key"] == str(UUID(str(second["message_id"])))
    others = [change for change in changes if change.operation != "c"]
    assert {change.operation for change in others} == {"u", "d"}
    assert bodies(others, "u") <= {first["body"], second["body"], UNCHANGED}
    assert len([one for one in others if one.operation == "d"]) == 2


def test_a_publication_of_inserts_carries_nothing_else(postgres_copy: str) -> None:
    """OB-14: so the router has nothing to warn of"""
    with application(postgres_copy) as app, log_of(app.engine, "insert") as log:

        @app.on(Placed)
        def take(event: Placed) -> None: ...

        publish(app, Placed(order_id=7))
        worked(app)
        assert [change.operation for change in log.read()] == ["c"]


def test_the_publication_of_the_page_is_such_a_one(postgres_copy: str) -> None:
    """OB-14"""
    (block,) = PAGE.blocks("sql")
    told = text(
        "SELECT pubname, pubinsert, pubupdate, pubdelete, tablename FROM pg_publication "
        "JOIN pg_publication_tables USING (pubname)"
    )
    with application(postgres_copy) as app, app.engine.begin() as connection:
        connection.execute(text("\n".join(block.lines)))
        named = configuration(app)["publication.name"]
        assert connection.execute(told).all() == [(named, True, False, False, "outbox")]


def test_a_redriven_event_is_inserted_again_under_its_id(app: Todoke) -> None:
    """OB-14: consumers know it by that"""

    @app.on(Placed)
    def refuse(event: Placed) -> None:
        raise PermanentError("no")

    with log_of(app.engine) as log:
        publish(app, Placed(order_id=7))
        worked(app)
        (letter,) = letters(app)
        with app.session() as session:
            again = Selection(ids=(letter.id,))
            app.dead_letters.redrive(session, again, by="mika", reason="try again")
        inserted = [change.row for change in log.read() if change.operation == "c"]
    assert len(inserted) == 2
    assert inserted[0]["message_id"] == inserted[1]["message_id"]
    assert inserted[0]["body"] == inserted[1]["body"]


def test_a_delayed_event_is_inserted_at_once(app: Todoke) -> None:
    """OB-14: which is why Debezium does not keep its delay"""
    with log_of(app.engine) as log:
        publish(app, Placed(order_id=7), delay="1h")
        assert [change.operation for change in log.read()] == ["c"]


def worked(app: Todoke) -> None:
    app.drain()
    assert isinstance(app.clock, Clock)
    app.clock.advance("1m")
    app.drain()


def routed(app: Todoke, row: dict[str, str | None]) -> tuple[str | None, ...]:
    """What the router makes of a row, beside its id: key, topic, payload, version."""
    names = ("table.field.event.key", "route.by.field", "table.field.event.payload",
             "table.field.event.schema.version")  # fmt: skip
    assert row[option(app, "table.field.event.id")]
    return tuple(row[option(app, name)] for name in names)


def bodies(changes: list[Change], operation: str) -> set[str | None]:
    return {change.row["body"] for change in changes if change.operation == operation}
