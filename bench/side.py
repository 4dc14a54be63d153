"""One measured process of ours: `python -m bench.side SIDE ROLE '{"url": …}'`."""

from __future__ import annotations

import sys
from importlib import import_module

from bench.child import play

SIDES = {
    "todoke": "bench.todoke_side",
    "raw": "bench.raw.side",
    "todoke-jobs": "bench.jobs.todoke_side",
    "raw-jobs": "bench.jobs.raw_side",
}

if __name__ == "__main__":
    play(import_module(SIDES[sys.argv[1]]).ROLES)
