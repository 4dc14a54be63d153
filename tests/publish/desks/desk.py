"""One kind of transaction an event can be published in, behind one face."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any

from todoke import Event, Todoke


class Desk(ABC):
    """Opens transactions of one kind, and publishes in them as a user would."""

    is_async = False
    """Publishing is awaited."""
    waits_for_commit = False
    """Events are written before the commit, not at once."""

    def __init__(self, app: Todoke) -> None:
        self.app = app

    @abstractmethod
    def transaction(self) -> AbstractAsyncContextManager[Any]: ...

    @abstractmethod
    def savepoint(self, tx: Any) -> AbstractAsyncContextManager[Any]: ...

    @abstractmethod
    def autocommit(self) -> AbstractAsyncContextManager[Any]:
        """A handle that commits by itself."""

    @abstractmethod
    def elsewhere(self, url: str) -> AbstractAsyncContextManager[Any]:
        """A transaction on another database, at this address."""

    @abstractmethod
    async def execute(self, tx: Any, statement: str) -> None:
        """Run a statement of the caller's own."""

    async def publish(self, tx: Any, event: Event, **options: Any) -> Any:
        answer = self.app.publish(tx, event, **options)
        return await answer if self.is_async else answer

    async def publish_all(self, tx: Any, events: Iterable[Event], **options: Any) -> Any:
        answer = self.app.publish_all(tx, events, **options)
        return await answer if self.is_async else answer
