"""What the warehouse reads: CSV (RFC 4180), a line for each item of each shipment.

No cell begins a formula, since a customer's name may be anything and spreadsheets run what stands
behind `=`, `+`, `-` and `@`. Such a text gets an apostrophe in front, also where it has some
already: who takes away one that stands before a formula has the text as it was.
"""

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, select
from sqlalchemy.orm import Session

from shop.shipping.shift_jis import shift_jis
from shop.shipping.table import shipment_items, shipments

COLUMNS = (
    "shipment_id",
    "shipment_type",
    "order_number",
    "sku",
    "name",
    "quantity",
    "recipient_name",
    "postal_code",
    "address",
    "phone",
)
UTF_8, SHIFT_JIS = "utf-8-sig", "shift_jis"
ENCODINGS = (UTF_8, SHIFT_JIS)

# Nothing is known to run what stands behind the last two; lists of dangerous signs have them.
_BEGIN_A_FORMULA = tuple("=+-@|%")
_QUOTES = "'\""
_UNSEEN = ("Z", "M", "Cf", "Cs")
"""Kinds of characters that spreadsheets may pass over: blanks, marks, what is not shown."""


class Line(NamedTuple):
    """One item of one shipment, as it is written."""

    shipment_id: int
    shipment_type: str
    order_number: str
    sku: str
    name: str
    quantity: int
    recipient_name: str
    postal_code: str
    address: str
    phone: str


def lines_of(session: Session, file_id: int) -> Iterator[Line]:
    """Always in the same order, so that the file is the same whenever it is written."""
    told = [shipments.c.id, *(_column(name) for name in COLUMNS[1:])]
    query = (
        select(*told)
        .join(shipment_items, shipment_items.c.shipment_id == shipments.c.id)
        .where(shipments.c.file_id == file_id)
        .order_by(shipments.c.id, shipment_items.c.id)
    )
    return (Line(*row) for row in session.execute(query))


def pieces(lines: Iterable[Sequence[object]], encoding: str) -> Iterator[bytes]:
    """The file, piece by piece: a head, and each line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    if encoding == UTF_8:
        yield b"\xef\xbb\xbf"  # without it, spreadsheets take UTF-8 for something else
    writer.writerow(COLUMNS)
    for line in lines:
        writer.writerow([safe(cell) if isinstance(cell, str) else cell for cell in line])
        yield _taken(text, encoding)
    yield _taken(text, encoding)


def safe(text: str) -> str:
    """The text as a cell that is shown, never run."""
    return f"'{text}" if _may_run(text) else text


def _may_run(text: str) -> bool:
    for character in text:
        kind = unicodedata.category(character)
        if kind == "Cc":
            return True
        if character not in _QUOTES and not kind.startswith(_UNSEEN):
            # Also in its full-width and small forms; the minus sign is one of them in Shift_JIS.
            plain = unicodedata.normalize("NFKC", character).replace("−", "-")
            return plain.startswith(_BEGIN_A_FORMULA)
    return False


def _taken(text: io.StringIO, encoding: str) -> bytes:
    taken = text.getvalue()
    text.seek(0)
    text.truncate()
    return encoded(taken, encoding)


def encoded(text: str, encoding: str) -> bytes:
    # Half a character, which no database keeps, becomes a question mark.
    return shift_jis(text) if encoding == SHIFT_JIS else text.encode(errors="replace")


def _column(name: str) -> Column[Any]:
    return shipments.c[name] if name in shipments.c else shipment_items.c[name]
