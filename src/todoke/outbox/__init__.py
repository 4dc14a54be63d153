"""The outbox: events written in the caller's transaction, and where they go from there.

Promised: commit keeps the event, rollback drops it; one row per event. The relay decides, when a
worker has claimed the row: one handler handles it in place, several get a delivery each, none
means a dead letter. Its worker is `work.worker`.
"""
