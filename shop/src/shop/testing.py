"""A shop for tests: every part of it is real, and it runs inside the test. Needs httpx."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

import httpx
import uvicorn
from fastapi import FastAPI

from shop.app import wired
from shop.database import migrate
from shop.mailbox.reading import Letter, read
from shop.mailbox.server import MailServer
from shop.web import create_web
from todoke import Settings, Todoke
from todoke.operate import DeadLetter, EventRecord
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
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        if not server.answers.wait(30):
            raise TimeoutError("the web application did not start")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Sandbox:
    """A whole shop in a test's hands: orders by HTTP, mail by SMTP, time by the test's clock."""

    def __init__(self, app: Todoke, web: httpx.Client, mail: MailServer, clock: Clock) -> None:
        self.app = app
        self.web = web
        self.mail = mail
        self.clock = clock

    def place(self, email: str | None = "hanako@example.com", unit_price: int = 4980) -> int:
        line = {"name": "急須", "quantity": 1, "unitPrice": unit_price}
        placed = self.web.post("/api/order", json={"lines": [line], "customerEmail": email})
        return int(placed.raise_for_status().json()["id"])

    def confirm(self, order_id: int) -> None:
        self.web.post(f"/api/order/{order_id}/confirm").raise_for_status()

    def place_and_confirm(self, email: str | None = "hanako@example.com") -> int:
        order_id = self.place(email)
        self.confirm(order_id)
        return order_id

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

    def events(self, event_type: str) -> Sequence[EventRecord]:
        """How far they got: each delivery to a handler, or the event where it made none."""
        with self.app.session() as session:
            found = self.app.events.list(session, type=event_type)
        delivered = {record.message_id for record in found if record.handler}
        return [one for one in found if one.handler or one.message_id not in delivered]

    def statuses(self, event_type: str) -> list[str]:
        return [record.status for record in self.events(event_type)]

    def dead_letters(self) -> list[DeadLetter]:
        with self.app.session() as session:
            return self.app.dead_letters.list(session).items

    def letters(self) -> list[Letter]:
        """The mails that arrived, oldest first."""
        return [read(caught) for caught in reversed(self.mail.mailbox.newest_first())]


def settings_for(
    database_url: str, mail: MailServer, broker_url: str, **order_mail: str
) -> Settings:
    """What a shop on this database, with these servers, is told; nothing else is heard."""
    told = {
        "database": {"url": database_url},
        "mail": {"host": mail.hostname, "port": mail.port},
        "broker": {"url": broker_url, "read_timeout": "1s"},
        "handlers": {"order-mail": order_mail},
    }
    return Settings(told, environment={})


@contextmanager
def sandbox(
    database_url: str,
    mail: MailServer,
    clock: Clock,
    broker_url: str = NOWHERE,
    **order_mail: str,
) -> Iterator[Sandbox]:
    settings = settings_for(database_url, mail, broker_url, **order_mail)
    app = wired(Todoke(settings=settings, clock=clock))
    with closing(app):
        app.migrate()
        migrate(app.engine)
        with serving(create_web(app)) as url, httpx.Client(base_url=url) as web:
            yield Sandbox(app, web, mail, clock)
