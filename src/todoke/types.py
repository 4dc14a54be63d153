"""What signatures mention and people rarely write."""

from todoke.duration import Duration
from todoke.errors import ErrorClass
from todoke.work.handler import Answer, CallNext, Middleware, OnCrash

__all__ = ["Answer", "CallNext", "Duration", "ErrorClass", "Middleware", "OnCrash"]
