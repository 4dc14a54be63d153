"""A process that registers a lease beside a SQLite database, renews it, and waits to be killed."""

from __future__ import annotations

import sys
import threading

from todoke import Settings, Todoke
from todoke.runtime import Runtime


def main() -> None:
    app = Todoke(sys.argv[1], settings=Settings({"lease.duration": "1s"}, environment={}))
    membership = Runtime(app).membership
    with app.engine.connect() as connection:
        membership.join(connection)
        print(membership.id, flush=True)
        while not threading.Event().wait(0.1):
            membership.tick(connection)


if __name__ == "__main__":
    main()
