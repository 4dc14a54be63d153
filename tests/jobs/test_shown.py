"""What people see of arguments and results: nothing that is marked Personal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NewType, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict, Field

from todoke import Personal, Todoke
from todoke.jobs.shown import hidden, hidden_argument, hidden_result


class Person(BaseModel):
    name: Personal[str]
    city: str


@dataclass
class Parcel:
    phone: Personal[str]
    to: Person
    number: int = 0


class Note(TypedDict):
    text: Personal[str]
    size: int


class Renamed(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)
    mail: Personal[str] = Field(alias="eMail")


Receiver = NewType("Receiver", Person)
PERSON = {"name": "Mika", "city": "Kobe"}
SHOWN = {"name": "***", "city": "Kobe"}


@pytest.mark.parametrize(
    ("kind", "data", "shown"),
    [
        (Person, PERSON, SHOWN),
        (list[Person], [PERSON, PERSON], [SHOWN, SHOWN]),
        (dict[str, Person], {"a": PERSON}, {"a": SHOWN}),
        (dict[str, list[Person]], {"a": [PERSON]}, {"a": [SHOWN]}),
        (Person | None, PERSON, SHOWN),
        (Person | None, None, None),
        (int | Person, 7, 7),
        (tuple[int, Person], [7, PERSON], [7, SHOWN]),
        (Receiver, PERSON, SHOWN),
        (Personal[str], "Mika", "***"),
        (list[Personal[str]], ["Mika"], ["***"]),
        (Personal[str] | None, "Mika", "***"),
        (Note, {"text": "hush", "size": 4}, {"text": "***", "size": 4}),
        (Renamed, {"eMail": "mika@example.com"}, {"eMail": "***"}),
        (str, "plain", "plain"),
        (Any, PERSON, PERSON),
        (
            Parcel,
            {"phone": "090", "to": PERSON, "number": 3},
            {"phone": "***", "to": SHOWN, "number": 3},
        ),
        (Person, "no object", "no object"),
    ],
)
def test_personal_parts_are_hidden(kind: Any, data: Any, shown: Any) -> None:
    """ER-3"""
    assert hidden(kind, data) == shown


def test_what_nobody_can_read_is_hidden() -> None:
    """ER-3: rather too much than too little."""

    class Here(str): ...

    @dataclass
    class Local:
        here: Here

    assert hidden(Local, {"here": "Mika"}) == "***"


def test_by_the_annotations_of_a_job() -> None:
    """ER-3: also where an argument or a result is one value."""
    app = Todoke("sqlite://")

    @app.job()
    def look_up(phone: Personal[str]) -> Personal[str]:
        return phone

    @app.job()
    def nothing() -> None: ...

    handlers = app.handlers.jobs
    assert hidden_argument(handlers["look-up"], "090") == "***"
    assert hidden_result(handlers["look-up"], "090") == "***"
    assert hidden_argument(handlers["nothing"], None) is None
