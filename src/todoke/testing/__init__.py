"""For tests of applications that use todoke, with pytest or without it."""

from todoke.testing.clock import Clock
from todoke.testing.faulty_line import FaultyLine
from todoke.testing.harness import Harness

__all__ = ["Clock", "FaultyLine", "Harness"]
