"""Mistakes that a type checker finds before the program runs.

Each is a few lines after the program in `samples.py`; `# <-` marks the line that is reported.
"""

from __future__ import annotations

MISTAKES = {
    "a handler whose first parameter is another event": """
@app.on(Placed)  # <-
def wrong_event(event: Cancelled) -> None: ...
""",
    "the same as async def": """
@app.on(Placed)  # <-
async def wrong_event_async(event: Cancelled) -> None: ...
""",
    "a handler of two events that takes one": """
@app.on(Placed, Cancelled)  # <-
def one_of_two(event: Placed) -> None: ...
""",
    "a handler of three events that takes two": """
@app.on(Placed, Cancelled, Shipped)  # <-
def two_of_three(event: Placed | Cancelled, mailer: Mailer) -> None: ...
""",
    "a handler of four events that takes three": """
@app.on(Placed, Cancelled, Shipped, Stored)  # <-
def three_of_four(event: Placed | Cancelled | Shipped) -> None: ...
""",
    "a handler without a parameter": """
@app.on(Placed)  # <-
def no_parameter() -> None: ...
""",
    "a handler that answers text": """
@app.on(Placed)  # <-
def answers_text(event: Placed) -> str:
    return "done"
""",
    "an async handler that answers a number": """
@app.on(Placed)  # <-
async def answers_number(event: Placed) -> int:
    return 1
""",
    "a handler that answers a list of what is no event": """
@app.on(Placed)  # <-
def answers_numbers(event: Placed) -> list[int]:
    return [1]
""",
    "a handler that answers the class of an outcome": """
@app.on(Placed)  # <-
def answers_class(event: Placed) -> type[Done]:
    return Done
""",
    "a handler of what is no event": "app.on(str)  # <-",
    "a handler of an event's name": 'app.on("placed")  # <-',
    "a handler of nothing": "app.on()  # <-",
    "a time limit without a unit": "app.on(Placed, timeout=300)  # <-",
    "a misspelt option": 'app.on(Placed, retires="mail")  # <-',
    "a retry policy as a number": "app.on(Placed, retry=3)  # <-",
    "what becomes of followers, misspelt": 'app.on(Placed, followers="stop")  # <-',
    "what happens after a crash, misspelt": 'app.on(Placed, on_crash="aks")  # <-',
    "one event class instead of a list": "app.on(Placed, publishes=Shipped)  # <-",
    "what is published is no event": "app.on(Placed, publishes=[str])  # <-",
    "a limit as a number": "app.on(Placed, limit=4)  # <-",
    "a breaker as a name": 'app.on(Placed, breaker="psp")  # <-',
    "a handler called with another event": "nothing(Cancelled(order_id=1))  # <-",
    "a class published instead of an instance": "app.publish(Session(), Placed)  # <-",
    "what is published is no event at all": 'app.publish(Session(), "placed")  # <-',
    "publish on an engine": "app.publish(app.engine, Placed(order_id=1))  # <-",
    "publish without a transaction": "app.publish(Placed(order_id=1))  # <-",
    "a delay without a unit": "app.publish(Session(), Placed(order_id=1), delay=5)  # <-",
    "a header that is no text": """
app.publish(Session(), Placed(order_id=1), headers={"a": 1})  # <-
""",
    "many, and one is no event": 'app.publish_all(Session(), [Placed(order_id=1), "x"])  # <-',
    "a forgotten await": """
async def forgets(connection: AsyncConnection) -> None:
    app.publish(connection, Placed(order_id=1))  # <-
""",
    "a forgotten await on psycopg": """
async def forgets_psycopg(pg: psycopg.AsyncConnection[Any]) -> None:
    app.publish(pg, Placed(order_id=1))  # <-
""",
    "a forgotten await on asyncpg": """
async def forgets_asyncpg(apg: asyncpg.Connection[Any]) -> None:
    app.publish(apg, Placed(order_id=1))  # <-
""",
    "a forgotten await on aiosqlite": """
async def forgets_aiosqlite(lite: aiosqlite.Connection) -> None:
    app.publish(lite, Placed(order_id=1))  # <-
""",
    "an await on a driver that is not async": """
async def awaits_sqlite(lite: sqlite3.Connection) -> None:
    await app.publish(lite, Placed(order_id=1))  # <-
""",
    "a cursor instead of its connection": """
def on_a_cursor(lite: sqlite3.Connection) -> None:
    app.publish(lite.cursor(), Placed(order_id=1))  # <-
""",
    "an await too much": """
async def awaits(session: AsyncSession) -> None:
    await app.publish(session, Placed(order_id=1))  # <-
""",
    "a field that the event has not": """
def reads(session: Session) -> None:
    app.publish(session, Placed(order_id=1)).data.order_number  # <-
""",
    "an event without a field that it needs": "Placed()  # <-",
    "an event with a field of another type": 'Placed(order_id="one")  # <-',
    "a scope that is none": 'app.provide(scope="request")  # <-',
    "middleware that is not async": """
@app.middleware  # <-
def plain(attempt: Attempt, call_next: CallNext) -> Outcome:
    return Done()
""",
    "middleware that answers nothing": """
@app.middleware  # <-
async def silent(attempt: Attempt, call_next: CallNext) -> None: ...
""",
    "an error class that is none": 'app.classify(OSError, "fatal")  # <-',
    "a judge of another exception": "app.classify(KeyError, judge)  # <-",
    "a judge that answers no error class": "app.classify(OSError, lambda error: True)  # <-",
    "a wait without a unit": "Backoff(30)  # <-",
    "a limit as text": 'Limit("4")  # <-',
    "a snooze without a unit": "Snooze(5)  # <-",
    "a context included by its name": 'app.include("ordering")  # <-',
    "dead letters read from an engine": "app.dead_letters.list(app.engine)  # <-",
    "a key that is accepted without await": """
async def not_awaited(session: AsyncSession, once: Once) -> None:
    app.publish(session, Placed(order_id=1), settles=once.accept(session, {}))  # <-
""",
    "a job with another argument": """
def other_argument(session: Session) -> None:
    export.enqueue(session, "monday")  # <-
""",
    "a job without its argument": """
def no_argument(session: Session) -> None:
    put.enqueue(session)  # <-
""",
    "a job that takes no argument": """
def one_too_many(session: Session) -> None:
    bare.enqueue(session, 1)  # <-
""",
    "a schedule with another argument": 'app.schedule(put, 5, every="5m")  # <-',
    "a schedule without a time": "app.schedule(bare)  # <-",
    "a repeat that is none": 'Unique("key", repeat="ignore")  # <-',
}
