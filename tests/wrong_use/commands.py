"""Wrong words on the command line: one line each, and exit code 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WrongCommand:
    """What is typed, in a folder with `shop.py` in it, and what is answered."""

    what: str
    arguments: tuple[str, ...]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.what


SHOP = """
from todoke import Event, Key, Todoke

app = Todoke("sqlite:///shop.db")

class Placed(Event):
    order_id: Key[int]

@app.on(Placed)
def send(event: Placed) -> None: ...
"""

COMMANDS = [
    WrongCommand("no application is named", ("status",), ("No application", "--app", "TODOKE_APP")),
    WrongCommand(
        "a module that is not there",
        ("status", "--app", "shpo:app"),
        ("'shpo:app' cannot be found", "no module 'shpo'", "correct the name"),
    ),
    WrongCommand(
        "an attribute that is not there",
        ("status", "--app", "shop:ap"),
        ("'shop:ap' is no application", "ap does not exist", "There is app."),
    ),
    WrongCommand(
        "a module without its attribute",
        ("status", "--app", "shop"),
        ("'shop' names no application", "Write module:attribute"),
    ),
    WrongCommand(
        "a database file that is not there",
        ("status", "--app", "shop:app"),
        ("There is no database", "shop.db", "`todoke migrate` creates it"),
    ),
]
WITH_TABLES = [
    WrongCommand(
        "a context that is not there",
        ("worker", "shop:app", "--context", "ordring"),
        ("--context ordring", "no such context", "Known: todoke"),
    ),
    WrongCommand(
        "a dead letter that is not there",
        ("dead-letters", "show", "0192f0c8-0000-7000-8000-000000000000", "--app", "shop:app"),
        ("No dead letter 0192f0c8", "`todoke dead-letters list` shows what is"),
    ),
    WrongCommand(
        "a length of time without a unit",
        ("doctor", "--app", "shop:app", "--long-transaction", "7"),
        ("long_transaction = '7'", 'Write "250ms", "30s"'),
    ),
]
