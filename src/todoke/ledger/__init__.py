"""The ledger: what was asked for under which idempotency key, and what came of it.

Promised: a key is accepted once, in the caller's transaction; every later caller of it gets that
one's outcome, or a refusal where the request is another one. An entry is settled in the transaction
that settles its message, and does not expire before. No agent runs here.
"""
