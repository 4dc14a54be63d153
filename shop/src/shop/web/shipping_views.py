"""The JSON of products, stock and shipments."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import ConfigDict, Field

from shop.shipping.model import FileStatus, ShipmentStatus, ShipmentType
from shop.web import examples
from shop.web.views import Incoming, Name, Outgoing


class ProductRequest(Incoming):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "急須", "unitPrice": 4980}]})

    name: Name
    unit_price: int = Field(strict=True, ge=0, le=1_000_000_000)


class ProductView(Outgoing):
    model_config = ConfigDict(json_schema_extra={"examples": [examples.PRODUCT]})

    sku: str
    name: str
    unit_price: int


class ProductPage(Outgoing):
    """By number; `after=next` reads on."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.page(examples.PRODUCT)]})

    items: Sequence[ProductView]
    next: str | None


class ReceivedStock(Incoming):
    model_config = ConfigDict(json_schema_extra={"examples": [{"quantity": 20}]})

    quantity: int = Field(strict=True, ge=1, le=1_000_000)


class StockView(Outgoing):
    """All that ever came in, and where it is now: `total = free + reserved + shipped`."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.STOCK]})

    sku: str
    total: int
    free: int
    reserved: int
    shipped: int


class StockPage(Outgoing):
    """By number; `after=next` reads on."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.page(examples.STOCK)]})

    items: Sequence[StockView]
    next: str | None


class ItemView(Outgoing):
    sku: str
    name: str
    quantity: int


class ShipmentView(Outgoing):
    model_config = ConfigDict(json_schema_extra={"examples": [examples.SHIPMENT]})

    id: int
    order_id: int
    order_number: str
    shipment_type: ShipmentType
    status: ShipmentStatus
    file_id: int | None
    created_at: datetime
    items: Sequence[ItemView]


class ShipmentPage(Outgoing):
    """Newest first; `before=next` reads on."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.page(examples.SHIPMENT)]})

    items: Sequence[ShipmentView]
    next: int | None


class ShipmentFileView(Outgoing):
    model_config = ConfigDict(json_schema_extra={"examples": [examples.SHIPMENT_FILE]})

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


class ShipmentFilePage(Outgoing):
    """Newest first; `before=next` reads on."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [examples.page(examples.SHIPMENT_FILE)]}
    )

    items: Sequence[ShipmentFileView]
    next: int | None
