"""The job board: what people on call see of jobs, in words they can tell apart."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from html.parser import HTMLParser
from os import getpid
from threading import Event

import httpx
import pytest
from fastapi import FastAPI
from tests.application import leases
from tests.waiting import until
from tests.work.running import worker

from shop.testing import Sandbox, serving
from shop.web import board
from shop.web.problems import install_problems
from todoke import Job, PermanentError, Run, Settings, Skip, Todoke
from todoke.testing import Clock
from todoke.work.lease import Service

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


class Desk:
    """An application with a few jobs and schedules, and its board."""

    def __init__(self, app: Todoke) -> None:
        self.app = app
        self.meanwhile: Callable[[], object] = lambda: None
        self.web: httpx.Client

        @app.job()
        def export_file(day: str, run: Run) -> None:
            for number in run.track(range(100_000)):
                if number == 3_000:
                    self.meanwhile()

        @app.job()
        def refuse(reason: str) -> None:
            raise PermanentError(reason, code="NO_SUCH_FILE")

        @app.job()
        def look_around() -> Skip:
            return Skip("nothing to do")

        @app.job()
        def switched_off() -> None: ...

        @app.job(queue="files")
        def later(number: int) -> None: ...

        app.schedule(switched_off, every="5m")
        app.schedule(look_around, cron="0 1 * * *", tz="Asia/Tokyo", name="nightly")
        self.export_file: Job[str, None] = export_file
        self.refuse: Job[str, None] = refuse
        self.look_around: Job[None, None] = look_around
        self.switched_off: Job[None, None] = switched_off
        self.later: Job[int, None] = later

    def do(self, job: Job[str, None], argument: str) -> None:
        with self.app.session() as session:
            job.enqueue(session, argument)
        self.app.drain()

    def do_plainly(self, job: Job[None, None]) -> None:
        with self.app.session() as session:
            job.enqueue(session)
        self.app.drain()

    def page(self, address: str = "/jobs?lang=en") -> str:
        return self.web.get(address).raise_for_status().text


@contextmanager
def boarding(app: Todoke) -> Iterator[Desk]:
    with closing(app):
        found = Desk(app)
        web = FastAPI()
        install_problems(web)
        web.include_router(board.routes(app))
        with serving(web) as url, httpx.Client(base_url=url) as found.web:
            yield found


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 11, 17, 12, 2, tzinfo=UTC))


@pytest.fixture
def desk(sqlite_copy: str, clock: Clock) -> Iterator[Desk]:
    told = {"database": {"url": sqlite_copy}, "jobs": {"enabled": {"switched-off": False}}}
    settings = Settings(told, environment={})
    with boarding(Todoke(settings=settings, clock=clock)) as found:
        yield found


def rows(page: str, table: str) -> list[list[str]]:
    """The cells of a table as text, and `[]` where it is not on the page."""
    reader = _Rows(f"{table}-table")
    reader.feed(page)
    return reader.rows


class _Rows(HTMLParser):
    def __init__(self, id: str) -> None:
        super().__init__()
        self._id, self._inside = id, False
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._inside = dict(attrs)["id"] == self._id
        elif self._inside and tag == "tr":
            self.rows.append([])
        elif self._inside and tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "table"

    def handle_data(self, data: str) -> None:
        if self._inside and self.rows and self.rows[-1]:
            self.rows[-1][-1] += f"{data} "


def statuses(page: str) -> list[str]:
    return [" ".join(row[1].split()[1:]) for row in rows(page, "runs")[1:]]


@pytest.mark.parametrize(
    ("address", "accepts", "title", "nothing"),
    [
        ("/jobs", "ja,en;q=0.8", "ジョブ", "実行中のジョブはありません。"),
        ("/jobs", "en-GB,ja;q=0.5", "Jobs", "Nothing runs at the moment."),
        ("/jobs?lang=ja", "en", "ジョブ", "実行中のジョブはありません。"),
        ("/jobs?lang=en", "ja", "Jobs", "Nothing runs at the moment."),
    ],
)
def test_the_shops_job_board_comes_up_in_the_readers_language(
    module_shop: Sandbox, address: str, accepts: str, title: str, nothing: str
) -> None:
    """JB-8, TS-3 (E §8, 1)"""
    answer = module_shop.web.get(address, headers={"Accept-Language": accepts})
    assert answer.status_code == 200
    assert f"<h1>{title}</h1>" in answer.text
    assert nothing in answer.text


def test_the_board_is_no_part_of_the_apis_description(module_shop: Sandbox) -> None:
    """JB-8"""
    paths = module_shop.web.get("/openapi.json").json()["paths"]
    assert not [path for path in paths if path.startswith("/jobs")]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["Succeeded", "Failed", "Skipped", "Skipped"]),
        ("ja", ["成功", "失敗", "スキップ", "スキップ"]),
    ],
)
def test_runs_that_failed_were_skipped_or_succeeded_are_told_apart_in_words(
    desk: Desk, language: str, words: list[str]
) -> None:
    """JB-8, TS-3 (E §8, 1)"""
    desk.do(desk.export_file, "today")
    desk.do(desk.refuse, "there is no such file")
    desk.do_plainly(desk.look_around)
    desk.do_plainly(desk.switched_off)
    page = desk.page(f"/jobs?lang={language}")
    assert statuses(page) == words[::-1]
    off, skipped, failed, succeeded = rows(page, "runs")[1:]
    assert "jobs.enabled.switched-off is off" in off[-1]
    assert "nothing to do" in skipped[-1]
    assert "NO_SUCH_FILE" in failed[-1]
    assert "there is no such file" in failed[-1]
    assert "100,000" in succeeded[3]
    assert "2026-11-17 12:02:00 UTC" in succeeded[4]


def test_what_runs_is_shown_with_its_progress_and_its_worker(migrated_url: str) -> None:
    """JB-8, TS-3 (E §8, 1)"""
    go_on = Event()
    with boarding(Todoke(migrated_url)) as desk:
        desk.meanwhile = lambda: go_on.wait(60)
        with worker(desk.app):
            try:
                with desk.app.session() as session:
                    desk.export_file.enqueue(session, "today")
                until(lambda: "3,000 of 100,000" in desk.page(), seconds=30)
                page = desk.page()
            finally:
                go_on.set()
    _, running = rows(page, "running")
    assert running[0].startswith("export-file")
    assert '<progress max="100000" value="3000" aria-label="Progress">' in page
    assert "3,000 of 100,000" in running[1]
    assert running[2].strip() == "1 of 4"
    assert f":{getpid()}" in running[3]
    assert f"{datetime.now(UTC):%Y-}" in running[4]
    assert re.search("<dt>Workers</dt><dd>1<small>(live|registered)", page)
    assert "<dt>Running</dt><dd>1</dd>" in page


def test_schedules_tell_their_next_tick_in_their_own_zone_and_who_paused_them(
    desk: Desk, clock: Clock
) -> None:
    """JB-8"""
    desk.app.drain()
    clock.advance("5m")
    desk.app.drain()
    with desk.app.session() as session:
        desk.app.schedules.pause(session, "nightly", by="ken", reason="stocktaking")
    _, nightly, off = rows(desk.page(), "schedules")
    assert "0 1 * * *" in nightly[1]
    assert "Asia/Tokyo" in nightly[1]
    assert nightly[2].strip() == "2026-11-18 01:00:00 JST"
    assert "never yet" in nightly[3]
    assert "Paused by ken since 2026-11-17 12:07:00 UTC: stocktaking" in nightly[4]
    assert "2026-11-17 12:05:00 UTC" in off[3]
    assert "Skipped" in off[3]
    assert "Off by configuration" in off[4]


def test_what_waits_is_counted_by_queue_and_what_died_waits_for_a_person(desk: Desk) -> None:
    """JB-8"""
    with desk.app.session() as session:
        desk.later.enqueue_all(session, range(1_200))
        desk.later.enqueue(session, 7, delay="1h")
        desk.app.jobs.pause(session, queue="files", by="mika", reason="the disk is full")
    desk.do(desk.refuse, "no")
    page = desk.page()
    _, waiting = rows(page, "waiting")
    assert [cell.strip() for cell in waiting[1:6]] == ["todoke/files", "1,200", "1", "0", "0"]
    assert "Paused by mika: the disk is full" in waiting[0]
    assert "<dt>Waiting</dt><dd>1,201<" in page
    assert "<dt>Dead letters</dt><dd>1<small>wait for a person" in page


def test_a_board_without_workers_says_so(desk: Desk) -> None:
    """JB-8"""
    assert "<dt>Workers</dt><dd>0<small>nobody works" in desk.page()


def test_a_worker_whose_lease_ran_out_is_not_counted_among_those_that_live(
    postgres_copy: str, clock: Clock
) -> None:
    """JB-8"""
    with boarding(Todoke(postgres_copy, clock=clock)) as desk:
        for name, seconds in (("host:1", 30), ("host:2", 3600)):
            with desk.app.engine.begin() as connection:
                process = desk.app.identities.draw()
                leases(desk.app, seconds).register(connection, process, name, Service({}, {}))
        assert "<dt>Workers</dt><dd>2<small>live<" in desk.page()
        clock.advance("5m")
        assert "<dt>Workers</dt><dd>1<small>live; 1 more let" in desk.page()


def test_runs_of_one_job_are_shown_alone(desk: Desk) -> None:
    """JB-8"""
    desk.do(desk.refuse, "no")
    desk.do_plainly(desk.look_around)
    assert statuses(desk.page("/jobs?lang=en&job=look-around")) == ["Skipped"]
    assert statuses(desk.page("/jobs?lang=en&job=refuse")) == ["Failed"]


def test_only_the_last_runs_are_shown(desk: Desk) -> None:
    """JB-8"""
    with desk.app.session() as session:
        desk.refuse.enqueue_all(session, ["no"] * 60)
    desk.app.drain()
    assert len(statuses(desk.page())) == 50


@pytest.mark.parametrize("job", ["nobody-knows-this", HOSTILE, "{0}", "%", "急須"])
def test_a_job_that_nobody_knows_has_an_empty_page_that_leads_back(desk: Desk, job: str) -> None:
    """JB-8, SE-4"""
    answer = desk.web.get("/jobs", params={"job": job, "lang": "en"})
    assert answer.status_code == 200
    assert "There is no run of" in answer.text
    assert '<a href="/jobs?lang=en">Show all jobs</a>' in answer.text
    assert_harmless(answer.text)


@pytest.mark.parametrize("job", ["x" * 201, "a\0b", "a\nb", "\u202egnp"])
def test_a_name_that_no_job_can_have_is_refused(desk: Desk, job: str) -> None:
    """SE-4"""
    answer = desk.web.get("/jobs", params={"job": job})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


def test_nothing_a_job_or_a_person_says_becomes_markup(desk: Desk) -> None:
    """SE-4"""
    desk.do(desk.refuse, HOSTILE)
    with desk.app.session() as session:
        desk.later.enqueue(session, 1)
        desk.app.jobs.pause(session, queue="files", by=HOSTILE, reason=HOSTILE)
        desk.app.schedules.pause(session, "nightly", by=HOSTILE, reason=HOSTILE)
    for language in ("en", "ja"):
        page = desk.page(f"/jobs?lang={language}")
        assert_harmless(page)
        assert page.count("&lt;script&gt;") == 5


def test_an_argument_is_not_shown(desk: Desk) -> None:
    """SE-4: it may hold what is personal."""
    desk.do(desk.export_file, "taro@example.com")
    assert "taro" not in desk.page()


def test_a_message_of_any_length_leaves_the_board_readable(desk: Desk) -> None:
    """SE-4"""
    desk.do(desk.refuse, "x" * 5_000)
    assert "x" * 300 + "…" in desk.page()
    assert "x" * 301 not in desk.page()


def test_the_board_runs_no_script_and_is_kept_by_nobody(desk: Desk) -> None:
    """SE-4"""
    for address in ("/jobs", "/jobs/style.css"):
        headers = desk.web.get(address).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self';")
        assert "script-src" not in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
    assert desk.web.get("/jobs/style.css").headers["content-type"].startswith("text/css")


def test_the_board_looks_again_by_itself_unless_its_reader_stops_it(desk: Desk) -> None:
    """JB-8"""
    refresh = '<meta http-equiv="refresh" content="5">'
    moving, still = desk.page(), desk.page("/jobs?lang=en&refresh=off")
    assert refresh in moving
    assert '<a href="/jobs?lang=en&amp;refresh=off">' in moving
    assert refresh not in still
    assert '<a href="/jobs?lang=en">' in still


def test_headings_are_in_order_and_tables_say_what_they_are(desk: Desk) -> None:
    """JB-8"""
    desk.do(desk.refuse, "no")
    page = desk.page()
    assert re.findall(r"<h(\d)", page) == ["1", "2", "2", "2", "2"]
    assert page.count("<table") == page.count("<caption") > 0
    assert '<th scope="row">' in page
    assert not re.search(r"<th(?! scope=)[ >]", page)


def test_a_board_whose_database_does_not_answer_goes_on_looking(sqlite_copy: str) -> None:
    """JB-8"""
    app = Todoke(sqlite_copy.replace("todoke.db", "nowhere/todoke.db"))
    web = FastAPI()
    web.include_router(board.routes(app))
    with closing(app), serving(web) as url:
        answer = httpx.get(f"{url}/jobs?lang=en")
    assert answer.status_code == 503
    assert "The database does not answer" in answer.text
    assert '<meta http-equiv="refresh"' in answer.text


def assert_harmless(page: str) -> None:
    assert "<script" not in page
    assert "<img" not in page
