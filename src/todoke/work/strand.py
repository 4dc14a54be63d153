"""Streams, strands and lanes: what is claimed together, what is kept in order, who may take it.

A *stream* is what a worker claims from: `context/queue`, or `context/queue/destination`. A
*strand* is all work of one key in one stream: done one by one, in the order of its ids. A *lane*
is a fixed share of a stream's strands, leased by one worker at a time.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

LANES = 64
UNORDERED = -1
"""The lane of work that keeps no order: everybody may take it."""

DEFAULT_QUEUE = "default"


def stream_name(context: str, queue: str = DEFAULT_QUEUE, destination: str | None = None) -> str:
    return f"{context}/{queue}/{destination}" if destination else f"{context}/{queue}"


def context_of(stream: str) -> str:
    return stream.split("/", maxsplit=1)[0]


def queue_of(stream: str) -> str:
    return stream.split("/")[1]


@lru_cache(maxsize=1024)
def destination_of(stream: str) -> str:
    """Empty for a stream without one."""
    return stream.split("/")[2] if stream.count("/") > 1 else ""


def strand_of(stream: str, aggregate: str, key: str, handler: str | None) -> int:
    """64 bits of a hash: two keys that met in one would merely wait for each other."""
    text = "\0".join((stream, aggregate, key, handler or ""))
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def strand_of_key(name: str, key: str) -> int:
    """What a limit per key counts together: it keeps no order."""
    return strand_of("", name, key, None)


def lane_of(strand: int) -> int:
    return strand % LANES


def place_of(
    stream: str, aggregate: str, key: str, handler: str | None, *, ordered: bool
) -> dict[str, int]:
    """The columns that say where a row stands in the order."""
    if not ordered:
        return {"strand": 0, "lane": UNORDERED}
    strand = strand_of(stream, aggregate, key, handler)
    return {"strand": strand, "lane": lane_of(strand)}
