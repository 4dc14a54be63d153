"""For tests of applications that use todoke: a clock that tests move, crash points."""

from todoke.testing.clock import Clock

__all__ = ["Clock"]
