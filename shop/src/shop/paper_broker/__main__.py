import argparse
import socket
from contextlib import closing
from pathlib import Path

import uvicorn

from shop.paper_broker.book import Book
from shop.paper_broker.web import create_broker_web


def main() -> None:
    options = _options()
    with (
        closing(Book(options.store)) as book,
        _listener(options) as listener,
    ):
        web = create_broker_web(book, hosts=(options.host,))
        print(f"http://{options.host}:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(web, log_level="warning", ws="none", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run([listener])


def _listener(options: argparse.Namespace) -> socket.socket:
    if options.fd is not None:
        return socket.socket(fileno=options.fd)
    return socket.create_server((options.host, options.port))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("shop.paper_broker", description="A broker without a market.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8030, help="0 takes any that is free")
    parser.add_argument("--fd", type=int, help="an inherited socket instead of a port")
    parser.add_argument("--store", type=Path, default=Path("broker.db"), help="a SQLite file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
