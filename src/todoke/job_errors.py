"""What goes wrong with jobs."""

from __future__ import annotations

from todoke.error_classes import TodokeError


class InvalidArgument(TodokeError):
    """A job cannot be enqueued with this argument."""

    when = "a job is enqueued with an argument of another type, or one that is no strict JSON"
    remedy = "pass what the job's first parameter is annotated with"

    def __init__(self, job: str, why: str) -> None:
        self.why: str = why
        super().__init__(f"{job}.enqueue: {why}. Nothing was enqueued.")


class JobExists(TodokeError):
    """A job with this unique key is there already."""

    when = 'a job is enqueued with `Unique(key, repeat="raise")`, and the key is taken'
    remedy = "take the other job for this one, or wait until it has ended"

    def __init__(self, job: str, key: str, id: object) -> None:
        self.key: str = key
        self.id: object = id
        super().__init__(
            f"{job}.enqueue: the unique key {key!r} is taken by job {id}. Wait for that one, or "
            'write repeat="return" to be given it.'
        )


class JobFailed(TodokeError):
    """A job whose result was asked for has none."""

    when = "`result` is asked of a job that was given up, skipped or cancelled"
    remedy = "look at it with `todoke jobs show ID`"

    def __init__(self, id: object, status: str, why: str) -> None:
        self.status: str = status
        super().__init__(f"job {id} has no result: {status}, {why}. `todoke jobs show {id}`")


class Cancelled(TodokeError):
    """A person has cancelled the job that runs here."""

    when = "a job that was cancelled calls `run.check()`, or asks for its next item or chunk"
    remedy = "let it pass: what the job's session has written is rolled back"

    def __init__(self, job: str, id: object, by: str) -> None:
        super().__init__(f"{job} {id} was cancelled by {by}.")
