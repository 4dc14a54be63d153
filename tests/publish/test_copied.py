"""Many rows at once on PostgreSQL are streamed: they are the rows that INSERT would write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.application import Placed, application, living
from todoke import Todoke

MANY = 20
HEADERS = {"tenant": "東京", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
NOTE = "届け \\ \t\n\r '\"\u2028 😀"


@pytest.fixture
def app(postgres_copy: str) -> Iterator[Todoke]:
    with application(postgres_copy) as app:
        yield app


def test_every_column_is_as_if_inserted(app: Todoke) -> None:
    """OB-2: texts, numbers, moments, ids, and what is absent"""
    several: list[dict[str, Any]] = [{"headers": HEADERS}, {"expires": "90m"}, {"locked": True}]
    options = [several[number % 3] for number in range(MANY)]
    for option in options:
        with app.session() as session:
            app.publish(session, Placed(order_id=1, note=NOTE), **option)
    inserted = rows(app)
    with app.engine.begin() as connection:
        connection.execute(app.outbox_table.live.delete())
    with app.session() as session:
        for option in options:
            app.publish(session, Placed(order_id=1, note=NOTE), **option)
    assert rows(app) == inserted


def test_texts_are_written_in_the_connections_encoding(app: Todoke) -> None:
    """OB-2"""
    url = app.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, client_encoding="euc_jp") as connection:
        app.publish_all(connection, [Placed(order_id=n, note="届け") for n in range(MANY)])
    assert {row.body.partition('"note":"')[2][:2] for row in living(app)} == {"届け"}


def rows(app: Todoke) -> list[dict[str, Any]]:
    """All but what each row draws anew."""
    drawn = {"id", "message_id"}
    return [
        {name: value for name, value in row._asdict().items() if name not in drawn}
        for row in living(app)
    ]
