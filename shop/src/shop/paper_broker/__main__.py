import argparse
from contextlib import closing
from pathlib import Path

import uvicorn

from shop.listener import listener
from shop.paper_broker.book import Book
from shop.paper_broker.web import create_broker_web


def main() -> None:
    options = _options()
    with (
        closing(Book(options.store)) as book,
        listener(options.host, options.port, options.fd) as at,
    ):
        web = create_broker_web(book, hosts=(options.host,))
        print(f"http://{options.host}:{at.getsockname()[1]}", flush=True)
        config = uvicorn.Config(web, log_level="warning", ws="none", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run([at])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("shop.paper_broker", description="A broker without a market.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8030, help="0 takes any that is free")
    parser.add_argument("--fd", type=int, help="an inherited socket instead of a port")
    parser.add_argument("--store", type=Path, default=Path("broker.db"), help="a SQLite file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
