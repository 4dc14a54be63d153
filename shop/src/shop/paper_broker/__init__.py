"""A broker on paper, for demos and tests: its own process, its own book, no market behind it.

    python -m shop.paper_broker --port 8030 --store broker.db

It takes an order once per Idempotency-Key. `PUT /script` tells it to be slow, to refuse, to fail,
to hang or to die, as real ones do.
"""
