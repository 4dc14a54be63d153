"""After a fork, what the parent holds open is neither used nor closed in the child.

Web servers load an application once and fork many processes. Two of them on one connection would
read each other's answers, and a thread of the parent does not run in a child at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

_renewals: WeakKeyDictionary[Any, Callable[[Any], object]] = WeakKeyDictionary()


def after_fork(thing: T, renew: Callable[[T], object]) -> T:
    """In each child from now on, `renew` lets the thing begin anew."""
    _renewals[thing] = renew
    return thing


def _renew_all() -> None:
    for thing, renew in list(_renewals.items()):
        renew(thing)


os.register_at_fork(after_in_child=_renew_all)
