"""What signatures mention and people rarely write."""

from todoke.duration import Duration
from todoke.errors import ErrorClass
from todoke.work.handler import CallNext, Middleware, OnCrash

__all__ = ["CallNext", "Duration", "ErrorClass", "Middleware", "OnCrash"]
