"""What the warehouse reads: CSV (RFC 4180), a line for each item of each shipment.

No cell begins a formula: spreadsheets run what stands behind `=`, `+`, `-`, `@` and their
full-width forms, and a customer's name may be anything. Such a text gets an apostrophe in front.
"""

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, select
from sqlalchemy.orm import Session

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

_BEGINS_A_FORMULA = tuple("=+-@＝＋－＠\t\r\n\0|%")
_GETA = "〓"
"""What Japanese printers put where they have no type for a character."""
# The same signs, by the numbers that Windows' Shift_JIS gives them.
_AS_WINDOWS = str.maketrans("〜−‖—¢£¬", "～－∥―￠￡￢")


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
    return f"'{text}" if text.startswith(_BEGINS_A_FORMULA) else text


def _taken(text: io.StringIO, encoding: str) -> bytes:
    taken = text.getvalue()
    text.seek(0)
    text.truncate()
    return encoded(taken, encoding)


def encoded(text: str, encoding: str) -> bytes:
    """What Shift_JIS has no sign for becomes a geta mark; nothing fails for a name's sake."""
    if encoding == UTF_8:
        return text.encode()
    known = unicodedata.normalize("NFC", text).translate(_AS_WINDOWS)
    try:
        return known.encode("cp932")
    except UnicodeEncodeError:
        return "".join(_or_geta(character) for character in known).encode("cp932")


def _or_geta(character: str) -> str:
    try:
        character.encode("cp932")
    except UnicodeEncodeError:
        return _GETA
    return character


def _column(name: str) -> Column[Any]:
    return shipments.c[name] if name in shipments.c else shipment_items.c[name]
