"""A shop for tests: every part of it is real, and it runs inside the test. Needs httpx."""

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import httpx
import uvicorn
from fastapi import FastAPI

from shop.app import wired
from shop.database import migrate
from shop.inventory.stock import receive_stock
from shop.listener import listener
from shop.mailbox.reading import Letter, read
from shop.mailbox.server import MailServer
from shop.ordering.products import put_product
from shop.web import create_web
from todoke import Settings, Todoke
from todoke.operate import DeadLetter, EventRecord, RunRecord
from todoke.testing import Clock

NOWHERE = "http://127.0.0.1:9"
"""A broker that is not there: the port that discards, where nobody listens."""

BROKER_ORDER = {
    "symbol": "7203.T",
    "side": "BUY",
    "quantity": "100",
    "orderType": "LIMIT",
    "limitPrice": "2512.5",
    "account": "8871-2040",
}


SKU = "KYUSU-01"

SHIP_TO = {
    "name": "山田花子",
    "postalCode": "100-0001",
    "address": "東京都千代田区千代田1-1",
    "phone": "03-1234-5678",
}


class _Server(uvicorn.Server):
    """Tells when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answers = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.answers.set()


@contextmanager
def serving(web: FastAPI) -> Iterator[str]:
    """The address under which `web` answers while the block runs."""
    server = _Server(uvicorn.Config(web, log_level="warning", ws="none"))
    with listener("127.0.0.1") as at:
        thread = threading.Thread(target=server.run, args=([at],), daemon=True)
        thread.start()
        if not server.answers.wait(30):
            raise TimeoutError("the web application did not start")
        try:
            yield f"http://127.0.0.1:{at.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def client_of(url: str) -> httpx.Client:
    """Without certificates, since nothing here is encrypted and to load them takes 20 ms."""
    trusts_nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.Client(base_url=url, timeout=30, verify=trusts_nobody)


class Sandbox:
    """A whole shop in a test's hands: orders by HTTP, mail by SMTP, time by the test's clock."""

    def __init__(
        self, app: Todoke, web: httpx.Client, mail: MailServer, clock: Clock, folder: Path
    ) -> None:
        self.app = app
        self.web = web
        self.mail = mail
        self.clock = clock
        self.exported, self.sent = folder / "export", folder / "sent"

    def offer(self, sku: str = SKU, stock: int = 100, unit_price: int = 4980) -> None:
        """Sell it, and have so many of it more."""
        product = {"name": "急須", "unitPrice": unit_price}
        self.web.put(f"/api/product/{sku}", json=product).raise_for_status()
        if stock:
            self.web.post(f"/api/stock/{sku}/receive", json={"quantity": stock}).raise_for_status()

    def ask_for(
        self, *wanted: tuple[str, int], email: str | None = None, **changes: Any
    ) -> httpx.Response:
        """Try to place an order."""
        lines = [{"sku": sku, "quantity": quantity} for sku, quantity in wanted or [(SKU, 1)]]
        order = {"lines": lines, "shipTo": SHIP_TO, "customerEmail": email, **changes}
        return self.web.post("/api/order", json=order)

    def place(self, email: str | None = "hanako@example.com", **changes: Any) -> int:
        return int(self.ask_for(email=email, **changes).raise_for_status().json()["id"])

    def cancel(self, order_id: int, reason: str = "USER_CANCEL") -> httpx.Response:
        return self.web.post(f"/api/order/{order_id}/cancel", json={"reason": reason})

    def confirm(self, order_id: int) -> None:
        self.web.post(f"/api/order/{order_id}/confirm").raise_for_status()

    def place_and_confirm(self, email: str | None = "hanako@example.com") -> int:
        order_id = self.place(email)
        self.confirm(order_id)
        return order_id

    def stock(self, sku: str = SKU) -> tuple[int, int, int, int]:
        """Total, free, reserved, shipped."""
        found = self.web.get(f"/api/stock/{sku}").raise_for_status().json()
        return found["total"], found["free"], found["reserved"], found["shipped"]

    def shipments(self, order_id: int) -> list[dict[str, Any]]:
        answer = self.web.get(f"/api/order/{order_id}/shipment")
        found: list[dict[str, Any]] = answer.raise_for_status().json()
        return found

    def files(self) -> list[dict[str, Any]]:
        """Files of shipments, oldest first."""
        answer = self.web.get("/api/shipment-file").raise_for_status().json()
        return list(reversed(answer["items"]))

    def run(self, job: str) -> None:
        """Run a job by hand, and all that follows."""
        with self.app.session() as session:
            self.app.jobs.run(session, job, by="test", reason="to see it")
        self.work()

    def runs(self, job: str) -> Sequence[RunRecord]:
        """Its runs, oldest first."""
        with self.app.session() as session:
            return list(reversed(self.app.jobs.runs(session, job)))

    def order(self, order_id: int) -> dict[str, Any]:
        found: dict[str, Any] = self.web.get(f"/api/order/{order_id}").raise_for_status().json()
        return found

    def do_order(
        self, key: str | None = "k-1", by: str = "desk-7", **changes: Any
    ) -> httpx.Response:
        headers = {"X-Operator": by} | ({"Idempotency-Key": key} if key else {})
        return self.web.post("/do/order", json=BROKER_ORDER | changes, headers=headers)

    def outcome(self, key: str = "k-1", by: str = "desk-7") -> dict[str, Any]:
        answer = self.web.get(f"/do/order/{quote(key, safe='')}", headers={"X-Operator": by})
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def work(self, *pauses: str) -> None:
        """Deliver what is due, and again after each pause."""
        self.app.drain()
        for pause in pauses:
            self.clock.advance(pause)
            self.app.drain()

    def events(self, event_type: str, handler: str | None = None) -> Sequence[EventRecord]:
        """How far they got: each delivery, or that to `handler`; the event where it made none."""
        with self.app.session() as session:
            found = self.app.events.list(session, type=event_type)
        delivered = {record.message_id for record in found if record.handler}
        ends = [one for one in found if one.handler or one.message_id not in delivered]
        return [one for one in ends if handler is None or one.handler in (None, handler)]

    def statuses(self, event_type: str, handler: str | None = None) -> list[str]:
        return [record.status for record in self.events(event_type, handler)]

    def mail_statuses(self) -> list[str]:
        """How far the mails to customers got whose orders were confirmed."""
        return self.statuses("ORDER_CONFIRMED", "order-mail")

    def dead_letters(self) -> list[DeadLetter]:
        with self.app.session() as session:
            return self.app.dead_letters.list(session).items

    def dead_mails(self) -> list[DeadLetter]:
        """Those of mails to customers."""
        return [dead for dead in self.dead_letters() if dead.name.endswith("-mail")]

    def letters(self) -> list[Letter]:
        """The mails that arrived, oldest first."""
        return [read(caught) for caught in reversed(self.mail.mailbox.newest_first())]


def settings_for(
    database_url: str, mail: MailServer, broker_url: str, folder: Path, **order_mail: str
) -> Settings:
    """What a shop on this database, with these servers, is told; nothing else is heard."""
    told = {
        "database": {"url": database_url},
        "mail": {"host": mail.hostname, "port": mail.port},
        "broker": {"url": broker_url, "read_timeout": "1s"},
        "handlers": {"order-mail": order_mail},
        "jobs.export.folder": str(folder / "export"),
        "jobs.sftp.sent": str(folder / "sent"),
    }
    return Settings(told, environment={})


@contextmanager
def sandbox(
    database_url: str,
    mail: MailServer,
    clock: Clock,
    broker_url: str = NOWHERE,
    *,
    told: Mapping[str, object] = MappingProxyType({}),
    **order_mail: str,
) -> Iterator[Sandbox]:
    """A shop with a hundred teapots, and whatever else it is told."""
    with TemporaryDirectory(prefix="shop-") as name:
        folder = Path(name)
        settings = settings_for(database_url, mail, broker_url, folder, **order_mail)
        app = wired(Todoke(settings=settings.with_values(told), clock=clock))
        with closing(app):
            prepare(app)
            with serving(create_web(app)) as url, client_of(url) as web:
                yield Sandbox(app, web, mail, clock, folder)


def prepare(app: Todoke) -> None:
    """Make all tables, and put teapots on the shelf."""
    app.migrate()
    migrate(app.engine)
    with app.session() as session:
        put_product(session, SKU, "急須", 4980)
        receive_stock(session, SKU, 100)
