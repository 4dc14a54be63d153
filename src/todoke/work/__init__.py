"""The core every room stands on: one table shape, one life.

Living work waits in a table, is claimed by a worker process that holds a lease, handled, and
settled: moved into history, into the dead letters, or back with a later time. Every final write
is guarded by (owner, attempt), so a late finisher finds nothing to write.

Promised: what was committed is handled at least once; effects written through the injected
session happen once. Not promised here: order within a key.

Agents, each a `tick`: Worker (claim, handle, settle), Stager (ready what is due), Rescuer
(return what a dead process held).
"""
