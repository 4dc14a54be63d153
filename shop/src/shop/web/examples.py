"""What the API's documentation shows."""

from typing import Any


def page(item: dict[str, Any]) -> dict[str, Any]:
    """One with nothing behind it."""
    return {"items": [item], "next": None}


SHIP_TO = {
    "name": "山田花子",
    "postalCode": "100-0001",
    "address": "東京都千代田区千代田1-1",
    "phone": "03-1234-5678",
}

NEW_ORDER: dict[str, Any] = {
    "lines": [{"sku": "KYUSU-01", "quantity": 1}, {"sku": "YUNOMI-05", "quantity": 5}],
    "shipTo": SHIP_TO,
    "customerEmail": "hanako@example.com",
    "language": "ja",
}

ORDER: dict[str, Any] = {
    "id": 1,
    "orderNumber": "20260218-7K3M9QAB",
    "status": "PENDING",
    "cancelReason": None,
    "customerEmail": "hanako@example.com",
    "language": "ja",
    "shipTo": SHIP_TO,
    "totalPrice": 10980,
    "placedAt": "2026-02-18T03:00:00Z",
    "lines": [
        {"sku": "KYUSU-01", "name": "急須", "quantity": 1, "unitPrice": 4980},
        {"sku": "YUNOMI-05", "name": "湯呑み", "quantity": 5, "unitPrice": 1200},
    ],
}

OPERATION: dict[str, Any] = {
    "id": 1,
    "eventId": "0195f1c2-7d1e-7c3a-9d57-3f6d0f7f9a11",
    "subject": "order-1",
    "operationType": "ORDER_CONFIRM",
    "performedBy": "Mika Sato",
    "requestPath": "/api/order/1/confirm",
    "details": {"orderNumber": "20260218-7K3M9QAB", "status": "CONFIRMED"},
    "performedAt": "2026-02-18T03:05:00Z",
}

PRODUCT: dict[str, Any] = {"sku": "KYUSU-01", "name": "急須", "unitPrice": 4980}
STOCK: dict[str, Any] = {"sku": "KYUSU-01", "total": 20, "free": 17, "reserved": 2, "shipped": 1}

SHIPMENT: dict[str, Any] = {
    "id": 1,
    "orderId": 1,
    "orderNumber": "20260218-7K3M9QAB",
    "shipmentType": "OUTBOUND",
    "status": "TRANSFERRED",
    "fileId": 1,
    "createdAt": "2026-02-18T16:00:00Z",
    "items": [{"sku": "KYUSU-01", "name": "急須", "quantity": 1}],
}

SHIPMENT_FILE: dict[str, Any] = {
    "id": 1,
    "name": "shipments-20260219-000001.csv",
    "status": "TRANSFERRED",
    "shipments": 1,
    "encoding": "utf-8-sig",
    "size": 214,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "createdAt": "2026-02-18T16:00:01Z",
    "exportedAt": "2026-02-18T16:00:01Z",
    "uploadedAt": "2026-02-18T16:00:02Z",
    "transferredAt": "2026-02-18T16:00:02Z",
}

BROKER_ORDER: dict[str, Any] = {
    "symbol": "7203.T",
    "side": "BUY",
    "quantity": "100",
    "orderType": "LIMIT",
    "limitPrice": "2512.5",
    "account": "8871-2040",
}

OUTCOME: dict[str, Any] = {
    "key": "8e03978e",
    "status": "succeeded",
    "result": {
        "brokerOrderId": "PB-00000001",
        "clientOrderId": "8e03978e",
        "takenAt": "2026-02-18T03:00:01Z",
    },
    "error": None,
    "acceptedAt": "2026-02-18T03:00:00Z",
    "settledAt": "2026-02-18T03:00:01Z",
}
