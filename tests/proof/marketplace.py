"""Many people at once who order, confirm, cancel, receive and ship a few scarce products.

In rounds: within one, clients ask over HTTP while workers deliver and run the jobs; between two,
time passes, so that in the next some reservations are over which nobody has released yet.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random

import httpx
from sqlalchemy.exc import DBAPIError

from shop.app import wired
from shop.testing import Sandbox
from tests.proof.stocktaking import Counted, at_every_commit, from_outside
from todoke import Todoke
from todoke.runtime import Runtime

SKUS = ("AGARI-01", "BANCHA-01", "GENMAI-01", "HOJICHA-01", "SENCHA-01")
CLIENTS, WORKERS = 6, 2
A_ROUND = 60
_RECENT = 20
_BOUND = httpx.Timeout(120)


class Marketplace:
    """What was asked for, what was answered, and whether stock added up meanwhile."""

    def __init__(self, shop: Sandbox, seed: int) -> None:
        self._shop, self._chance = shop, Random(seed)
        self._workers = [
            wired(Todoke(settings=shop.app.settings, clock=shop.clock)) for _ in range(WORKERS)
        ]
        self._orders: list[int] = []
        self._confirmed: list[int] = []
        self._acts: dict[Callable[[Random], httpx.Response | None], int] = {
            self._place: 40,
            self._confirm: 20,
            self._cancel: 12,
            self._mark_shipped: 14,
            self._receive: 6,
            self._release_reservations: 5,
            self._create_shipments: 3,
        }
        self.answers: Counter[tuple[str, int]] = Counter()
        self.failures: list[str] = []
        self.received: Counter[str] = Counter()
        self.lost_claims = 0
        self.commits = at_every_commit(shop.app, *self._workers)
        self.looks, self._seen_wrong = 0, list[Counted]()
        shop.web.timeout = _BOUND
        for sku in SKUS:
            shop.offer(sku, stock=0)
            self._receive_some(sku, 12)

    def close(self) -> None:
        for worker in self._workers:
            worker.close()

    def storm(self, operations: int) -> None:
        """So many requests, in rounds."""
        url = self._shop.app.url.render_as_string(hide_password=False)
        with from_outside(url) as watch:
            while self.answers.total() < operations:
                self._round(min(A_ROUND, operations - self.answers.total()))
                self._shop.clock.advance(f"{self._chance.randint(1, 9)}m")
        self.looks += watch.counts
        self._seen_wrong += watch.wrong

    def calm(self) -> None:
        """Let everything end: what is short comes in, what is ready leaves, the rest is freed."""
        for sku in SKUS:
            self._receive_some(sku, 10_000)
        self._shop.work()
        with self._shop.app.session() as session:
            letters = self._shop.app.dead_letters
            short = letters.where(code="OUT_OF_STOCK")
            letters.redrive(session, short, by="proof", reason="stock came in")
        self._shop.run("create-shipment")
        for order_id in self._confirmed[-_RECENT:]:
            self._note("mark_shipped", self._post(order_id, "mark-shipped").status_code)
        self._shop.clock.advance("1h")
        self._shop.run("release-reservations")

    @property
    def wrong(self) -> list[Counted]:
        """What did not add up, at some commit or between two."""
        return self._seen_wrong + self.commits.wrong

    def _round(self, operations: int) -> None:
        over = threading.Event()
        seeds = [self._chance.random() for _ in range(CLIENTS)]
        shares = [operations // CLIENTS + (n < operations % CLIENTS) for n in range(CLIENTS)]
        with ThreadPoolExecutor(WORKERS) as working, ThreadPoolExecutor(CLIENTS) as asking:
            done = [working.submit(self._work, worker, over) for worker in self._workers]
            try:
                list(asking.map(self._ask, seeds, shares))
            finally:
                over.set()
            for one in done:
                one.result()

    def _work(self, worker: Todoke, over: threading.Event) -> None:
        while not over.is_set():
            try:
                with Runtime(worker).draining() as deliver:
                    while not over.wait(0.1):
                        deliver()
            except DBAPIError as error:
                # A worker's loop would go on; a drain tells its caller.
                if not worker.database.passes(error):
                    raise
                self.lost_claims += 1

    def _ask(self, seed: float, count: int) -> None:
        chance = Random(seed)
        for act in chance.choices(list(self._acts), list(self._acts.values()), k=count):
            name = act.__name__.removeprefix("_")
            try:
                answer = act(chance)
            except httpx.TransportError as error:
                self._note(name, 599, repr(error))
            else:
                self._note(name, 0 if answer is None else answer.status_code)

    def _note(self, name: str, status: int, text: str = "") -> None:
        self.answers[name, status] += 1
        if status >= 500:
            self.failures.append(f"{name}: {status} {text}")

    # --- what a client does ----------------------------------------------------------------------

    def _place(self, chance: Random) -> httpx.Response:
        skus = chance.sample(SKUS, chance.randint(1, 3))
        answer = self._shop.ask_for(*((sku, chance.randint(1, 3)) for sku in skus))
        if answer.status_code == 201:
            self._orders.append(answer.json()["id"])
        elif answer.status_code == 409 and answer.json()["free"] >= answer.json()["wanted"]:
            self.failures.append(f"refused what is there: {answer.text}")
        return answer

    def _confirm(self, chance: Random) -> httpx.Response | None:
        if (order_id := _recent(chance, self._orders)) is None:
            return None
        answer = self._post(order_id, "confirm")
        if answer.is_success:
            self._confirmed.append(order_id)
        return answer

    def _mark_shipped(self, chance: Random) -> httpx.Response | None:
        order_id = _recent(chance, self._confirmed)
        return self._post(order_id, "mark-shipped") if order_id is not None else None

    def _cancel(self, chance: Random) -> httpx.Response | None:
        order_id = _recent(chance, self._orders)
        return self._shop.cancel(order_id) if order_id is not None else None

    def _receive(self, chance: Random) -> httpx.Response:
        return self._receive_some(chance.choice(SKUS), chance.randint(1, 6))

    def _release_reservations(self, _chance: Random) -> None:
        self._run("release-reservations")

    def _create_shipments(self, _chance: Random) -> None:
        self._run("create-shipment")

    def _post(self, order_id: int, act: str) -> httpx.Response:
        return self._shop.web.post(f"/api/order/{order_id}/{act}")

    def _receive_some(self, sku: str, quantity: int) -> httpx.Response:
        path = f"/api/stock/{sku}/receive"
        answer = self._shop.web.post(path, json={"quantity": quantity})
        if answer.is_success:
            self.received[sku] += quantity
        return answer

    def _run(self, job: str) -> None:
        with self._shop.app.session() as session:
            self._shop.app.jobs.run(session, job, by="proof", reason="at any time")


@contextmanager
def marketplace(shop: Sandbox, seed: int = 0) -> Iterator[Marketplace]:
    market = Marketplace(shop, seed)
    try:
        yield market
    finally:
        market.close()


def _recent(chance: Random, order_ids: list[int]) -> int | None:
    """One of the latest, so that others have the same in hand."""
    latest = order_ids[-_RECENT:]
    return chance.choice(latest) if latest else None
