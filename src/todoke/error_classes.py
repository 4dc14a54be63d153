"""The root of our own errors, and the classes that a handler's failure can have.

The built-in TimeoutError is the fourth of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from todoke.duration import Duration

ErrorClass = Literal["permanent", "transient", "business", "timeout"]


class TodokeError(Exception):
    """Root of todoke's own errors."""

    when: ClassVar[str] = "a handle is none of those that `publish` takes"
    """What happened, for the page of errors and for `todoke check`."""
    remedy: str = "the message says what to do"


class TransientError(Exception):
    """A failure that may pass: try again by the retry policy, or after `after`."""

    def __init__(
        self, message: str, *, code: str | None = None, after: Duration | None = None
    ) -> None:
        super().__init__(message)
        self.code: str | None = code
        self.after: Duration | None = after


class PermanentError(Exception):
    """A failure that will not pass: dead at once."""

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class BusinessError(Exception):
    """The domain says no: no retry; `publish` is published as the message is settled."""

    def __init__(
        self, message: str, *, code: str | None = None, publish: object | None = None
    ) -> None:
        super().__init__(message)
        self.code: str | None = code
        self.publish: object | None = publish
