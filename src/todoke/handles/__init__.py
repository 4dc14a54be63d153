"""Transactions as users hand them in: what they may be, and how statements are run in them.

Promised: nothing is run in a transaction that commits by itself, or on another database; what is to
be awaited and is not fails the commit. Nothing here commits.
"""
