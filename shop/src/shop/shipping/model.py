"""What can be said of parcels and of the files that tell of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class ShipmentType(StrEnum):
    OUTBOUND = "OUTBOUND"
    RETURN = "RETURN"


class ShipmentStatus(StrEnum):
    READY = "READY"
    EXPORTED = "EXPORTED"
    TRANSFERRED = "TRANSFERRED"


class FileStatus(StrEnum):
    ALLOTTED = "ALLOTTED"
    """Its shipments are known; it may be written by now, or not."""
    EXPORTED = "EXPORTED"
    TRANSFERRED = "TRANSFERRED"
    UNKNOWN = "UNKNOWN"
    """Nobody knows whether the receiver has it; a person decides."""


class Item(NamedTuple):
    """So many of one product, as the order said when the shipment was made."""

    sku: str
    name: str
    quantity: int


@dataclass(frozen=True)
class Parcel:
    """What is sent, or fetched, for an order."""

    order_id: int
    order_number: str
    recipient_name: str
    postal_code: str
    address: str
    phone: str
    items: Sequence[Item]


@dataclass(frozen=True)
class Shipment:
    id: int
    order_id: int
    order_number: str
    shipment_type: ShipmentType
    status: ShipmentStatus
    file_id: int | None
    created_at: datetime
    items: Sequence[Item]


class Content(NamedTuple):
    """What a file holds, in short."""

    size: int
    sha256: str


@dataclass(frozen=True)
class ShipmentFile:
    id: int
    name: str
    status: FileStatus
    shipments: int
    encoding: str
    size: int | None
    sha256: str | None
    created_at: datetime
    exported_at: datetime | None
    uploaded_at: datetime | None
    transferred_at: datetime | None
