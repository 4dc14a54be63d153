"""Every error says what happened, where, and what to do."""

from __future__ import annotations

import pytest

from todoke import errors
from todoke.errors import TodokeError

EXAMPLES: list[tuple[TodokeError, str]] = [
    (errors.InvalidOption("timeout", 300, 'Write "300s".'), 'Write "300s".'),
    (errors.InvalidEvent("publish(X): Set it."), "Set"),
    (errors.NullKey("Placed", "order_id"), "Set `order_id` before publishing"),
    (errors.Unserialisable("Placed", "NaN"), "Use text, whole numbers"),
    (errors.Oversized("Placed", 2, 1), "Store the bulk elsewhere and publish its id"),
    (errors.UndeclaredEvent("handler 'a'", "Paid", ["Placed"]), "Add Paid to `publishes=`"),
    (errors.InvalidKey("it is empty."), "Send a UUID"),
    (errors.Undigestible("dict", "it holds NaN"), "Write large numbers and money as text"),
    (errors.AlreadySettled("ledger.fail", "k-1", "succeeded"), "Settle an entry once"),
    (errors.AlreadySettled("ledger.fail", "k-1", None), "its entry has expired"),
    (errors.UnknownEvent("x"), "Derive its class from todoke.Event"),
    (errors.NotInTransaction("publish(X)", "a connection", "Use another."), "Use another."),
    (errors.NotAwaited(["publish(X)"]), "Write `await app.publish(conn, …)`"),
    (errors.OtherDatabase("publish(X)", "mysql://erp", "sqlite://shop"), "its own Todoke"),
    (errors.UnknownDependency("handler 'a'", "m", "Mailer", []), "Write `@app.provide`"),
    (errors.WrongSession("handler 'a'", True), "Ask for AsyncSession"),
    (errors.WrongSession("handler 'a'", False), "Ask for Session"),
    (errors.DuplicateName("handler", "a", "x.py:1", "y.py:2"), "another `name=`"),
    (errors.EventCycle(["Placed", "'a'", "Placed"]), "Take one of them out of `publishes=`"),
    (errors.ContextNotIncluded("ordering", "publish"), "Call `app.include(ordering)`"),
    (errors.MissingDriver("psycopg", "postgres"), "Run `pip install 'todoke[postgres]'`."),
    (errors.SchemaOutdated(None, "0001"), "Run `todoke migrate`."),
    (errors.SchemaOutdated("0000", "0001"), "are at revision 0000"),
    (errors.NotFound("dead letter", 7), "`todoke dead-letters list` shows what is."),
    (errors.NoApplication("No application is named. Set TODOKE_APP."), "Set TODOKE_APP"),
    (errors.UnreadableArchive("a.jsonl.gz", "it is torn."), "`todoke archive list` shows"),
    (errors.LeaseLost("handler 'a'", 2), "nothing was written"),
    (errors.InvalidArgument("export", "it takes an argument"), "Nothing was enqueued"),
    (errors.JobExists("export", "key", 7), 'write repeat="return"'),
    (errors.JobFailed(7, "DEAD", "BROKEN: it broke"), "`todoke jobs show 7`"),
    (errors.Cancelled("job 'a'", 7, "ken"), "was cancelled by ken"),
]


@pytest.mark.parametrize(("error", "remedy"), EXAMPLES, ids=lambda one: type(one).__name__)
def test_an_error_says_what_to_do(error: TodokeError, remedy: str) -> None:
    """api 3.11"""
    assert remedy in str(error)


def test_every_error_has_its_example_here() -> None:
    """api 3.11"""
    shown = {type(error) for error, _ in EXAMPLES} | {TodokeError}
    known = {
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, TodokeError)
    }
    assert known == shown


def test_every_error_of_ours_has_one_root_and_what_handlers_raise_has_not() -> None:
    """ER-1"""
    theirs = (errors.TransientError, errors.PermanentError, errors.BusinessError)
    assert not any(issubclass(one, TodokeError) for one in theirs)
