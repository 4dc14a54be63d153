"""`app.check()`: what would stop a worker, what settings name in vain, which names changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from pydantic import BaseModel
from sqlalchemy.orm import Session

from tests.application import Placed, Shipped
from todoke import Breaker, Context, Event, Key, Limit, Run, Settings, Todoke
from todoke.errors import InvalidOption
from todoke.names.check import record
from todoke.operate import Finding

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


class Mailer:
    """Nobody provides it."""


class Export(BaseModel):
    day: date
    carrier: str = "yamato"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "todoke.names.json"


@pytest.fixture
def app() -> Iterator[Todoke]:
    """On a database that nobody can reach: none is asked."""
    app = Todoke(NOWHERE, settings=Settings({}, environment={}))
    yield app
    app.close()


def with_settings(**values: object) -> Todoke:
    said = {name.replace("__", "."): value for name, value in values.items()}
    return Todoke(NOWHERE, settings=Settings(said, environment={}))


def told(app: Todoke, file: Path, check: str) -> list[Finding]:
    return [one for one in app.check(file) if one.check == check]


def test_an_application_that_is_well_is_told_so(app: Todoke, file: Path) -> None:
    """api 1.8"""

    @app.on(Placed)
    def send(event: Placed) -> None: ...

    record(app, file)
    findings = app.check(file)
    assert {one.verdict for one in findings} == {"ok"}
    assert [one.check for one in findings] == ["handlers", "settings", "names"]


def test_everything_that_a_start_refuses_is_told_at_once(app: Todoke, file: Path) -> None:
    """api 1.9: not one after the other"""

    @app.on(Placed)
    def first(event: Placed, mailer: Mailer) -> None: ...

    @app.on(Placed)
    async def second(event: Placed, session: Session) -> None: ...

    @app.on(Placed, retry="mial")
    def third(event: Placed) -> None: ...

    found = told(app, file, "handler")
    assert [one.verdict for one in found] == ["bad"] * 3
    assert "nothing provides Mailer" in found[0].found
    assert "asks for Session" in found[1].found
    assert "retry = 'mial'" in found[2].found
    assert "Known: broker-order, default, job, mail." in str(found[2].remedy)
    assert all(one.remedy for one in found)


def test_jobs_that_a_start_refuses_are_told_at_once(app: Todoke, file: Path) -> None:
    """JB-1 api 1.9"""

    @app.job()
    def first(day: str, mailer: Mailer) -> None: ...

    @app.job(priority=1, executor="cloud")  # type: ignore[arg-type]
    def second(day: str) -> None: ...

    found = told(app, file, "job")
    assert [one.verdict for one in found] == ["bad"] * 2
    assert "nothing provides Mailer" in found[0].found
    assert "executor = 'cloud'" in found[1].found


def test_a_job_whose_argument_has_no_type_is_told(app: Todoke, file: Path) -> None:
    """JB-1: neither can its shape be recorded"""

    @app.job()
    def first(day) -> None: ...  # type: ignore[no-untyped-def]

    file.write_text('{"events": {}, "handlers": {}}', encoding="utf-8")
    verdicts = {one.check: one.verdict for one in app.check(file)}
    assert verdicts == {"job": "bad", "settings": "ok", "names": "bad"}
    with pytest.raises(InvalidOption, match="needs an annotation"):
        record(app, file)


def test_jobs_are_recorded_with_what_is_in_their_rows(app: Todoke, file: Path) -> None:
    """JB-1 api 1.8"""

    @app.job(queue="files", aliases=["ship-out", "send"])
    def export(argument: Export) -> int: ...  # type: ignore[empty-body]

    @app.job()
    def tidy(run: Run) -> None: ...

    record(app, file)
    assert json.loads(file.read_text(encoding="utf-8"))["jobs"] == {
        "export": {
            "context": "todoke",
            "queue": "files",
            "aliases": ["send", "ship-out"],
            "argument": "object",
            "fields": {"day": "string date", "carrier": "string (optional)"},
        },
        "tidy": {
            "context": "todoke",
            "queue": "default",
            "aliases": [],
            "argument": "nothing",
            "fields": {},
        },
    }
    findings = app.check(file)
    assert [(one.check, one.verdict) for one in findings] == [
        ("handlers", "ok"),
        ("jobs", "ok"),
        ("settings", "ok"),
        ("names", "ok"),
    ]


def test_a_file_from_before_there_were_jobs_is_read(app: Todoke, file: Path) -> None:
    """api 1.8"""
    file.write_text('{"events": {}, "handlers": {}}', encoding="utf-8")
    assert {one.verdict for one in app.check(file)} == {"ok"}


def test_what_handlers_do_together_is_told(app: Todoke, file: Path) -> None:
    """SG-10: a ring of events, here; names and bounds alike"""

    @app.on(Placed, publishes=[Shipped])
    def ship(event: Placed) -> None: ...

    @app.on(Shipped, publishes=[Placed])
    def place(event: Shipped) -> None: ...

    (ring,) = told(app, file, "handlers")
    assert "Placed -> 'ship' -> Shipped -> 'place' -> Placed never ends" in ring.found


def test_one_name_for_two_handlers_is_told(app: Todoke, file: Path) -> None:
    """OB-2"""
    for limit in (1, 2):

        @app.on(Placed, name="mail", limit=Limit(limit), breaker=Breaker("psp"))
        def send(event: Placed) -> None: ...

    (twice,) = told(app, file, "handlers")
    assert "is used twice" in twice.found


def test_two_classes_of_one_type_and_version_are_told(app: Todoke, file: Path) -> None:
    """MS-4: readers could not tell them apart"""

    class Other(Event, type="placed"):
        order_id: Key[str]

    class Newer(Event, type="placed", version=2):
        order_id: Key[str]

    @app.on(Placed, Other, Newer)
    def take(event: Event) -> None: ...

    (twice,) = told(app, file, "event")
    assert "event name '*/placed' is used twice" in twice.found
    assert "another `type=`" in twice.found


def test_a_setting_for_a_handler_that_is_not_there_is_told(file: Path) -> None:
    """api 3.2"""
    app = with_settings(handlers__order_mial__timeout="5s")

    @app.on(Placed, name="order-mail")
    def send(event: Placed) -> None: ...

    (found,) = told(app, file, "settings")
    assert found.found == "handlers.order_mial: the application has no such handler or job"
    assert "Known: order-mail." in str(found.remedy)
    app.close()


def test_a_setting_may_name_a_job(file: Path) -> None:
    """JB-4 api 3.2"""
    app = with_settings(handlers__export__timeout="5s", jobs__enabled__exprot=False)

    @app.job()
    def export(day: str) -> None: ...

    (found,) = told(app, file, "settings")
    assert found.found == "jobs.enabled.exprot: the application has no such job"
    assert "Known: export." in str(found.remedy)
    app.close()


def test_a_context_that_is_not_there_is_told(file: Path) -> None:
    """OB-6"""
    app = with_settings(worker__contexts="ordering,shiping")
    app.include(Context("ordering"))
    (found,) = told(app, file, "settings")
    assert "no context 'shiping'" in found.found
    assert "Known: ordering, todoke." in str(found.remedy)
    app.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lease.renew", "15s"),
        ("outbox.batch", 500),
        ("outbox.profile", "fast"),
        ("worker.threads", 0),
        ("worker.timeout", "soon"),
        ("worker.queues", "default"),
        ("worker.contexts", "a,,b"),
        ("retention.inbox", "1d"),
        ("database.require_tls", "perhaps"),
        ("lease.poison", "often"),
        ("ledger.expires", "0s"),
        ("ledger.conflict_status", 418),
        ("ledger.store", "some"),
        ("jobs.keep", "long"),
        ("jobs.keep_successes", "all"),
    ],
)
def test_a_setting_that_a_worker_would_refuse_is_told(file: Path, name: str, value: object) -> None:
    """api 1.9: before a worker is started"""
    app = Todoke(NOWHERE, settings=Settings({name: value}, environment={}))
    found = told(app, file, "settings")
    assert [one.verdict for one in found] == ["bad"]
    assert found[0].found.startswith(name)
    assert found[0].remedy
    app.close()


def test_a_missing_file_of_names_is_told_with_the_remedy(app: Todoke, file: Path) -> None:
    """api 1.8"""
    (found,) = told(app, file, "names")
    assert found.verdict == "bad"
    assert f"there is no {file} yet" in found.found
    assert found.remedy == "Run `todoke check --write` and commit the file."


@pytest.mark.parametrize("text", ["", "<<<<<<< HEAD", '{"events": {}}', '{"events": 1}'])
def test_a_broken_file_of_names_is_told_and_never_written_over(
    app: Todoke, file: Path, text: str
) -> None:
    """api 1.8"""
    file.write_text(text, encoding="utf-8")
    (found,) = told(app, file, "names")
    assert found.verdict == "bad"
    assert "Take it from version control again." in str(found.remedy)
    with pytest.raises(InvalidOption, match="cannot be read"):
        record(app, file)
    assert file.read_text(encoding="utf-8") == text


def test_events_that_a_handler_only_publishes_are_recorded_too(app: Todoke, file: Path) -> None:
    """api 1.8"""

    @app.on(Placed, publishes=[Shipped])
    def ship(event: Placed) -> None: ...

    record(app, file)
    assert '"*/shipped": {' in file.read_text(encoding="utf-8")


def test_the_newest_version_of_an_event_is_recorded(app: Todoke, file: Path) -> None:
    """MS-4"""

    class Newer(Event, type="placed", version=2):
        order_id: Key[int]

    @app.on(Placed, Newer)
    def take(event: Event) -> None: ...

    record(app, file)
    assert '"version": 2' in file.read_text(encoding="utf-8")
    assert {one.verdict for one in app.check(file)} == {"ok"}
