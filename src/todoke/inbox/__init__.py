"""The inbox: one delivery for each handler of an event that has several.

Promised: deliveries are written in the transaction that settles their event, once each, and
each has its own retries and its own death. Its worker is `work.worker`.
"""
