"""`shop migrate` and `shop web`; handlers run with `todoke worker shop.app:app`."""

import argparse

import uvicorn

from shop.app import app
from shop.database import migrate


def main() -> None:
    parser = argparse.ArgumentParser("shop", description="A shop built on todoke.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("migrate", help="create or update the tables of todoke and of the shop")
    web = commands.add_parser("web", help="serve the HTTP API")
    web.add_argument("--host", default="127.0.0.1")
    web.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    if options.command == "migrate":
        migrate_all()
    else:
        uvicorn.run("shop.web.main:web", host=options.host, port=options.port)


def migrate_all() -> None:
    app.migrate()
    migrate(app.engine)
    print("The tables are up to date.")


if __name__ == "__main__":
    main()
