"""Tests for parts that others bring, such as a kind of database: subclass a suite, with pytest."""

from todoke.testing.conformance.database import DatabaseSuite, ServedDatabaseSuite

__all__ = ["DatabaseSuite", "ServedDatabaseSuite"]
