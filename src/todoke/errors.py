"""Everything todoke itself raises.

TodokeError
├── InvalidOption          an option has a value that cannot be meant
├── InvalidEvent           an event cannot be published as it is
│   ├── NullKey            its key is empty, so its order could not be kept
│   ├── Unserialisable     it cannot be written as strict JSON
│   ├── Oversized          it is larger than payload.max_bytes
│   └── UndeclaredEvent    its handler did not say that it publishes it
├── InvalidKey             an idempotency key is empty, too long, or no text
├── Undigestible           a request has no canonical JSON, so no digest
├── AlreadySettled         an entry of the ledger has its outcome already
├── UnknownEvent           the class was never declared as an event
├── NotInTransaction       the handle would commit on its own
├── NotAwaited             a publication on an async connection was never awaited
├── OtherDatabase          the handle belongs to another database
├── UnknownDependency      a handler asks for what nobody provides
├── WrongSession           a handler asks for the session of the other world
├── DuplicateName          two handlers or events share a name
├── EventCycle             handlers publish what leads back to them
├── ContextNotIncluded     a context was used before `app.include`
├── MissingDriver          the database's driver is not installed
├── SchemaOutdated         the tables are missing or of another version
├── NotFound               no such event or dead letter
├── NoApplication          no application is named, or it cannot be loaded
├── UnreadableArchive      a file is no archive that this release can read
├── LeaseLost              the work belongs to another attempt by now
├── InvalidArgument        a job cannot be enqueued with this argument
├── JobExists              a job with this unique key is there already
├── JobFailed              a job whose result was asked for has none
└── Cancelled              a person has cancelled the job that runs here

What handlers raise is not ours, so it does not derive from TodokeError:
TransientError (retry), PermanentError (dead at once), BusinessError (no retry, tell the
domain), and the built-in TimeoutError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from todoke.error_classes import BusinessError as BusinessError  # noqa: PLC0414
from todoke.error_classes import ErrorClass as ErrorClass  # noqa: PLC0414
from todoke.error_classes import PermanentError as PermanentError  # noqa: PLC0414
from todoke.error_classes import TodokeError as TodokeError  # noqa: PLC0414
from todoke.error_classes import TransientError as TransientError  # noqa: PLC0414
from todoke.job_errors import Cancelled as Cancelled  # noqa: PLC0414
from todoke.job_errors import InvalidArgument as InvalidArgument  # noqa: PLC0414
from todoke.job_errors import JobExists as JobExists  # noqa: PLC0414
from todoke.job_errors import JobFailed as JobFailed  # noqa: PLC0414

if TYPE_CHECKING:
    from collections.abc import Sequence


class InvalidOption(TodokeError):
    """An option has a value that cannot be meant."""

    when = (
        "an option or setting has a value that cannot be meant; a number without a unit; a "
        "misspelt setting"
    )
    remedy: str = "the message names the option and the values it takes"

    def __init__(self, option: str, value: object, remedy: str) -> None:
        self.option: str = option
        self.value: object = value
        self.remedy = remedy
        super().__init__(f"{option} = {value!r}: {remedy}")


class InvalidEvent(TodokeError):
    """An event cannot be published as it is."""

    when = "an event has no key, or an impossible one"
    remedy = "mark a `Key[...]` field, use the aggregate's id, or declare `ordered=False`"


class NullKey(InvalidEvent):
    """Its key is empty, so its order could not be kept."""

    when = "the key is empty"
    remedy = "set it before publishing; flush first if the database draws it"

    def __init__(self, event: str, field: str) -> None:
        super().__init__(
            f"publish({event}): its key `{field}` is empty, so the event belongs to no aggregate. "
            f"Set `{field}` before publishing (flush first if the database draws it)."
        )


class Unserialisable(InvalidEvent):
    """It cannot be written as strict JSON."""

    when = (
        "it cannot be written as strict JSON: NaN, half a character, more than 32 levels, an "
        "arbitrary object"
    )
    remedy = "use text, whole numbers, `Decimal`, `UUID`, aware datetimes, lists, models"

    def __init__(self, event: str, why: str) -> None:
        super().__init__(
            f"publish({event}): it cannot be written as JSON: {why}. "
            "Use text, whole numbers, Decimal, UUID, aware datetimes, lists and models."
        )


class Oversized(InvalidEvent):
    """It is larger than payload.max_bytes."""

    when = "the body is larger than `payload.max_bytes`"
    remedy = "store the bulk elsewhere and publish its id, or raise the limit"

    def __init__(self, event: str, size: int, limit: int) -> None:
        self.size: int = size
        self.limit: int = limit
        super().__init__(
            f"publish({event}): its body has {size:,} bytes, the limit is {limit:,}. Store the "
            "bulk elsewhere and publish its id, or raise payload.max_bytes."
        )


class UndeclaredEvent(InvalidEvent):
    """Its handler did not say that it publishes it."""

    when = (
        "a handler with `publishes=[…]` answered another event; the message becomes a dead letter"
    )
    remedy = "add the event to `publishes=`, then redrive"

    def __init__(self, handler: str, event: str, declared: Sequence[str]) -> None:
        said = ", ".join(declared) or "nothing"
        super().__init__(
            f"{handler} publishes {event}, but declares publishes=[…] with {said}. Add {event} to "
            "`publishes=`, so that a ring of events is found at start, then redrive."
        )


class InvalidKey(TodokeError):
    """An idempotency key is empty, too long, or no text."""

    when = "an idempotency key is empty, longer than 255 characters, or holds a control character"
    remedy = "send a UUID, drawn once for each thing that is asked for"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"This cannot be an idempotency key: {why} Send a UUID, drawn once for each thing "
            "that is asked for, and the same one with each repeat."
        )


class Undigestible(TodokeError):
    """A request has no canonical JSON, so no digest."""

    when = (
        "`ledger.accept` got a request that RFC 8785 cannot write: NaN, a whole number beyond "
        "2**53, half a character, an arbitrary object"
    )
    remedy = "write large numbers and money as text; pass a pydantic model or JSON values"

    def __init__(self, request: str, why: str) -> None:
        super().__init__(
            f"{request} cannot be digested: {why}. Write large numbers and money as text; pass a "
            "pydantic model or JSON values."
        )


class AlreadySettled(TodokeError):
    """An entry of the ledger has its outcome already."""

    when = "`ledger.succeed` or `ledger.fail` is called for an entry that is settled, or gone"
    remedy = "settle an entry once, in the transaction that accepted it, or by its message"

    def __init__(self, call: str, key: str, state: str | None) -> None:
        found = f"it is {state} already" if state else "its entry has expired"
        super().__init__(
            f"{call} of key {key!r}: {found}, so nothing was written. Settle an entry once: in "
            "the transaction that accepted it, or by the message that was published with "
            "`settles=`."
        )


class UnknownEvent(TodokeError):
    """The class was never declared as an event."""

    when = "what was published or named in `@on` is no `Event`"
    remedy = "derive the class from `todoke.Event`; publish an instance"

    def __init__(self, what: object) -> None:
        super().__init__(self._told(what))

    @staticmethod
    def _told(what: object) -> str:
        # By its type, never by its value, which may be personal.
        name = getattr(what, "__name__", type(what).__name__)
        match isinstance(what, type), hasattr(what, "declared"):
            case True, True:
                return f"{name} is an event class, not an event. Pass an instance: {name}(…)."
            case False, True:
                return f"an instance of {name} is not an event class. Name the class: {name}."
        if callable(what) and not isinstance(what, type):
            return f"function {name} is not an event. Write `@app.on(OrderPlaced)` above it."
        return f"{name} is not an event. Derive its class from todoke.Event."


class NotInTransaction(TodokeError):
    """The handle would commit on its own."""

    when = "the handle commits on its own"
    remedy = "use a connection or engine without `AUTOCOMMIT`"

    def __init__(self, call: str, handle: str, remedy: str) -> None:
        super().__init__(
            f"{call} got {handle} in autocommit mode, so the event would not commit with your "
            f"change. {remedy}"
        )


class NotAwaited(TodokeError):
    """A publication on an async connection was never awaited."""

    when = (
        "`publish` on an async connection was called without `await`; the next use of the "
        "connection is refused, so that no commit keeps the change without its event"
    )
    remedy = "write `await app.publish(conn, …)`; roll back"

    def __init__(self, calls: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(calls)} was called without `await`, so nothing was published, and what "
            "came next on this connection is refused: it might have been the commit. Write "
            "`await app.publish(conn, …)`."
        )


class OtherDatabase(TodokeError):
    """The handle belongs to another database."""

    when = (
        "the handle belongs to another database, or a session binds no database for todoke's tables"
    )
    remedy = "bind the session to the same database; give the other database its own `Todoke`"

    def __init__(self, call: str, theirs: str, ours: str) -> None:
        super().__init__(
            f"{call} got a handle on {theirs}, but todoke's tables live in {ours}: two databases "
            "cannot commit as one. Bind the Session to the same database, or give the other "
            "database its own Todoke."
        )


class UnknownDependency(TodokeError):
    """A handler asks for what nobody provides."""

    when = "a handler or provider asks for what nobody provides"
    remedy = "write `@app.provide` on a function that returns or yields it"

    def __init__(self, owner: str, parameter: str, kind: str, provided: Sequence[str]) -> None:
        known = ", ".join(provided) or "nothing"
        super().__init__(
            f"{owner} asks for {parameter}: {kind}, but nothing provides {kind} (provided: "
            f"{known}). Write `@app.provide` on a function that returns or yields {kind}."
        )


class WrongSession(TodokeError):
    """A handler asks for the session of the other world."""

    when = "`async def` asks for `Session`, or `def` for `AsyncSession`"
    remedy = "ask for the other one, or change the function"

    def __init__(self, owner: str, is_async: bool) -> None:
        shape, asked, better, other = (
            ("async def", "Session", "AsyncSession", "def")
            if is_async
            else ("def", "AsyncSession", "Session", "async def")
        )
        why = "which would block the event loop" if is_async else "which it cannot await"
        super().__init__(
            f"{owner} is `{shape}` and asks for {asked}, {why}. Ask for {better}, or make it "
            f"`{other}`."
        )


class DuplicateName(TodokeError):
    """Two handlers or events share a name."""

    when = "two handlers share a name; `todoke check`: two event classes share type and version"
    remedy = "give one another `name=`, or `type=`"

    def __init__(self, kind: str, name: str, first: str, second: str) -> None:
        super().__init__(
            f"{kind} name {name!r} is used twice: by {first} and by {second}. Names are stored in "
            f"the database; give one of them another `{'type' if kind == 'event' else 'name'}=`."
        )


class EventCycle(TodokeError):
    """Handlers publish what leads back to them."""

    when = "what handlers declare in `publishes=` leads back to where it began"
    remedy = "take one of them out of `publishes=`, and do not publish it there"

    def __init__(self, ring: Sequence[str]) -> None:
        super().__init__(
            f"{' -> '.join(ring)} never ends. Take one of them out of `publishes=`, and do not "
            "publish it there."
        )


class ContextNotIncluded(TodokeError):
    """A context was used before `app.include`."""

    when = "a context publishes before `app.include`"
    remedy = "include it where the application is built"

    def __init__(self, context: str, call: str) -> None:
        super().__init__(
            f"{call}: context {context!r} belongs to no application yet. "
            f"Call `app.include({context})` where the application is built."
        )


class MissingDriver(TodokeError):
    """The database's driver is not installed."""

    when = "the driver of the database is not installed"
    remedy: str = "install the extra that the message names"

    def __init__(self, driver: str, extra: str) -> None:
        self.driver: str = driver
        self.remedy = f"pip install 'todoke[{extra}]'"
        super().__init__(f"the driver {driver} is not installed. Run `{self.remedy}`.")


class SchemaOutdated(TodokeError):
    """The tables are missing or of another version."""

    when = "todoke's tables are missing or of another revision"
    remedy = "`todoke migrate`"

    def __init__(self, found: str | None, wanted: str) -> None:
        self.found: str | None = found
        self.wanted: str = wanted
        state = f"are at revision {found}" if found else "are missing"
        super().__init__(
            f"todoke's tables {state}, this release needs {wanted}. Run `todoke migrate`."
        )


class NotFound(TodokeError):
    """No such event or dead letter."""

    when = "no such event or dead letter"
    remedy = "`todoke events list`, `todoke dead-letters list`"

    def __init__(self, kind: str, id: object) -> None:
        super().__init__(f"No {kind} {id}. `todoke {kind.replace(' ', '-')}s list` shows what is.")


class NoApplication(TodokeError):
    """No application is named, or it cannot be loaded."""

    when = (
        "a command or a test finds no application: none is named, or `module:attribute` cannot be "
        "imported"
    )
    remedy = "`--app`, `TODOKE_APP` or todoke.toml; the message says what is wrong with the name"


class UnreadableArchive(TodokeError):
    """A file is no archive that this release can read."""

    when = (
        "a file that is to be restored does not exist, or is no archive of todoke's, or of a "
        "later release"
    )
    remedy = "`todoke archive list` shows what is there"

    def __init__(self, file: object, why: str) -> None:
        super().__init__(f"archive file {file}: {why} `todoke archive list` shows what is there.")


class LeaseLost(TodokeError):
    """The work belongs to another attempt by now."""

    when = "`attempt.check()`: the message belongs to another attempt by now"
    remedy = "stop; nothing of this attempt will be written"

    def __init__(self, what: str, attempt: int) -> None:
        super().__init__(
            f"{what} attempt {attempt}: this worker no longer owns it, so nothing was written. "
            "The attempt that owns it now decides."
        )
