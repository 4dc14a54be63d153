"""Starts mail catcher, broker, web and worker, tells a short story, and shows what arrives."""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from http.client import HTTPException
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import NoReturn

from shop.demo.children import ChildEnded, Children
from shop.demo.client import Site
from shop.demo.deliveries import Deliveries
from shop.demo.ports import Ports
from shop.demo.setup import Places, environment, prepare
from shop.demo.story import tell
from todoke import Todoke

_BETWEEN_LOOKS = 0.2
_LIMIT = 60.0


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, _interrupt)
    if isinstance(sys.stdout, TextIOWrapper):
        # News must be seen as they come, also through a pipe and on a terminal without Japanese.
        sys.stdout.reconfigure(line_buffering=True, errors="replace")
    try:
        run(Places(Path("var").absolute()), Ports.free(options), once=options.once)
    except KeyboardInterrupt:
        print("\nStopped.")
    except (ChildEnded, TimeoutError) as failed:
        print(f"\n{failed}", file=sys.stderr)
        return 1
    return 0


def run(places: Places, ports: Ports, once: bool) -> None:
    shop, mail, _ = _sites(ports)
    told = environment(places, ports)
    app = prepare(places, told)
    with Children(places.logs, told) as children:
        _start(children, places, ports)
        print(f"The shop runs; its logs are in {places.logs}.\n\nWhat happens:")
        deliveries = Deliveries(app, mail, shop)
        try:
            _show(children, app, deliveries, places, ports, once=once)
        except (OSError, HTTPException):
            children.check(patience=1.0)
            raise


def _show(
    children: Children,
    app: Todoke,
    deliveries: Deliveries,
    places: Places,
    ports: Ports,
    *,
    once: bool,
) -> None:
    told = tell(Site(ports.web.number))
    _say_where_to_look(places, ports, next_id=told.confirmed[-1].order_id + 1)

    def all_arrived() -> bool:
        deliveries.look()
        return deliveries.are_complete(told)

    def never() -> bool:
        deliveries.look()
        return False

    def warehouse_knows() -> bool:
        deliveries.look()
        return deliveries.are_shipped(told)

    _wait(children, all_arrived, _LIMIT)
    _wait(children, lambda: deliveries.have_stock(told), _LIMIT)
    print("  it is night in Tokyo: create-shipment is run, by hand, and what follows it")
    with app.session() as session:
        app.jobs.run(session, "create-shipment", by="demo", reason="nobody waits until 01:00")
    _wait(children, warehouse_knows, _LIMIT)
    if not once:
        _wait(children, never, None)


def _start(children: Children, places: Places, ports: Ports) -> None:
    shop, mail, broker = _sites(ports)
    smtp, page = str(ports.smtp.handle), str(ports.mail.handle)
    children.start(
        "mail", "shop.mailbox", "--smtp-fd", smtp, "--web-fd", page, at=[ports.smtp, ports.mail]
    )
    desk, book = str(ports.broker.handle), str(places.broker_book)
    children.start("broker", "shop.paper_broker", "--fd", desk, "--store", book, at=[ports.broker])
    door = str(ports.web.handle)
    children.start("web", "uvicorn", "shop.web.main:web", "--fd", door, at=[ports.web])
    children.start("worker", "todoke", "worker", "shop.app:app")
    pages = [(mail, "/api/mail"), (broker, "/orders"), (shop, "/api/order")]
    _wait(children, lambda: all(site.answers(path) for site, path in pages), _LIMIT)


def _sites(ports: Ports) -> tuple[Site, Site, Site]:
    """Shop, mail catcher, broker."""
    return Site(ports.web.number), Site(ports.mail.number), Site(ports.broker.number)


def _say_where_to_look(places: Places, ports: Ports, next_id: int) -> None:
    shop, mail, broker = _sites(ports)
    print(
        f"""
Where to look:
  mail              {mail.url}/
  jobs              {shop.url}/jobs
  orders            {shop.url}/api/order
  stock             {shop.url}/api/stock
  shipments         {shop.url}/api/shipment
  what was sent     {places.sent}
  operation log     {shop.url}/api/operation
  broker            {broker.url}/orders
  API               {shop.url}/docs

Place and confirm another order, then run the night's jobs:
  curl -s {shop.url}/api/order -H 'Content-Type: application/json' \\
    -d '{{"lines": [{{"sku": "KYUSU-01", "quantity": 1}}], "customerEmail": "you@example.com", \
"shipTo": {{"name": "Hanako", "postalCode": "100-0001", "address": "Tokyo", \
"phone": "0312345678"}}}}'
  curl -s -X POST {shop.url}/api/order/{next_id}/confirm
  TODOKE_DATABASE_URL={places.database_url} \\
    .venv/bin/todoke jobs run create-shipment --app shop.app:app --by me --reason curious

Order something from the broker, as often as you like, with one key; and ask what became of it:
  curl -s {shop.url}/do/order -H 'Content-Type: application/json' -H 'Idempotency-Key: mine' \\
    -d '{{"symbol": "7203.T", "side": "BUY", "quantity": "1", "orderType": "MARKET", \
"account": "demo-1"}}'
  curl -s {shop.url}/do/order/mine

What arrives (Ctrl-C ends the shop):"""
    )


def _wait(children: Children, until: Callable[[], bool], limit: float | None) -> None:
    """Look again and again; a child that ends, or a limit that passes, ends the wait."""
    begun = time.monotonic()
    while not until():
        children.check()
        if limit is not None and time.monotonic() - begun > limit:
            raise TimeoutError(f"Nothing came of it within {limit:.0f} s; see the logs.")
        time.sleep(_BETWEEN_LOOKS)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("shop.demo", description="Run the whole shop on one machine.")
    parser.add_argument("--once", action="store_true", help="end when all of the story has arrived")
    parser.add_argument("--web-port", type=int, default=8000, help="another one where taken")
    parser.add_argument("--mail-port", type=int, default=8025, help="of the mail catcher's page")
    parser.add_argument(
        "--smtp-port", type=int, default=1025, help="0 takes any, as for the others"
    )
    parser.add_argument("--broker-port", type=int, default=8030, help="of the paper broker")
    return parser.parse_args()


def _interrupt(signal_number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
