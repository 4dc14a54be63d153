"""The bell rings for many at once, and harms nobody when it cannot ring."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import pytest
from sqlalchemy import make_url

from tests.application import Placed, publish
from tests.servers.pgbouncer import pgbouncer_instance
from tests.servers.place import free_port
from tests.servers.postgres import PostgresServer
from tests.waiting import until
from tests.wake.ringing import PLACED, listener, ringing_application
from todoke.bell import EVERYWHERE, pack, unpack
from todoke.databases.postgres_bell import Haste, PostgresBell, channel_of, connector
from todoke.hint import hint_of
from todoke.work.strand import UNORDERED

ROOT = Path(__file__).parents[2]


def test_many_commits_share_a_ring(postgres_copy: str) -> None:
    """design 12: 8 threads, 200 commits each"""
    with ringing_application(postgres_copy, gap=0.02) as app, listener(app) as heard:

        def commit(thread: int) -> None:
            for number in range(200):
                publish(app, Placed(order_id=thread * 1000 + number))

        started = perf_counter()
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(commit, range(8)))
        taken = perf_counter() - started
        until(lambda: heard.rings)
        assert len(heard.rings) < 1600 / 3
        assert len(heard.rings) <= taken / 0.005 + 2
        assert len(heard.rings) <= taken / 0.02 + 25  # until it is seen that they come fast


def test_commits_now_and_then_wait_for_no_gap(postgres_copy: str) -> None:
    """design 12: the gap is for those that come fast"""
    with ringing_application(postgres_copy, gap=60.0) as app, listener(app) as heard:
        for number in range(1, 11):
            publish(app, Placed(order_id=number))
            until(lambda number=number: len(heard.rings) == number)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("each", "outrun", "is_on"),
    [
        (0.004, False, True),
        (0.008, False, False),
        (0.008, True, True),
        (0.012, True, False),
    ],
)
def test_what_is_too_fast(each: float, outrun: bool, is_on: bool) -> None:
    """design 12: 200 a second; 100 where the next comes while it still rings for the last"""
    haste = Haste()
    for number in range(30):
        haste.note(number * each)
    assert haste.is_on(outrun=outrun) is is_on


def test_hints_arrive_together_and_too_many_mean_everywhere(postgres_copy: str) -> None:
    """design 12"""
    with ringing_application(postgres_copy) as app, listener(app) as heard:
        bell = PostgresBell(connector(app.url, "test"), channel_of("todoke", ""))
        bell.ring({"event:free:ordering/default", "event:ordered:billing/slow"})
        until(lambda: len(heard.rings) == 1)
        bell.ring({f"event:free:context-{number}/default" for number in range(41)})
        until(lambda: len(heard.rings) == 2)
        bell.ring([f"event:free:{letter * 4000}/default" for letter in "ab"])
        until(lambda: len(heard.rings) == 3)
        bell.close()
    assert heard.rings == [
        {"event:free:ordering/default", "event:ordered:billing/slow"},
        EVERYWHERE,
        EVERYWHERE,
    ]


def test_hints_are_quoted(postgres_copy: str) -> None:
    """design 12: they hold names that people choose"""
    names = ("o'brien/default", '"; NOTIFY x; --/default', "back\\slash/受注", "a:b/c")
    awkward = {f"event:free:{name}" for name in names}
    with ringing_application(postgres_copy) as app, listener(app) as heard:
        app.bell.ring(awkward)
        until(lambda: heard.rings == [awkward])


def test_hints_survive_packing() -> None:
    """design 12"""
    hints = frozenset({"event:17:受注/default", "event:free:mail/slow"})
    assert unpack(pack(hints)) == hints
    assert unpack(pack([])) == EVERYWHERE
    assert len(pack([f"event:free:{'あ' * 40}"] * 40).encode()) < 8000


def test_very_many_lanes_are_not_named() -> None:
    """design 12"""
    lanes = {hint_of("event", "ordering/default", lane) for lane in range(64)}
    free = hint_of("event", "mail/slow", UNORDERED)
    assert unpack(pack({*lanes, free})) == {"event:ordered:ordering/default", free}


@pytest.mark.parametrize(
    "text",
    ["", "?", "x", "event:17", "event:17:a/b\nx", "event:free:a", "event:9999:a/b", "event:x:a/b"],
)
def test_what_is_no_hint_means_everywhere(text: str) -> None:
    """design 12: whoever may use the database may use the channel"""
    assert unpack(text) == EVERYWHERE


def test_installations_in_one_database_do_not_wake_each_other(postgres_copy: str) -> None:
    """design 12"""
    with ringing_application(postgres_copy) as app, listener(app) as heard:
        other = PostgresBell(connector(app.url, "test"), channel_of("elsewhere", ""))
        other.ring({"event:free:theirs/default"})
        other.close()
        publish(app, Placed(order_id=1))
        until(lambda: heard.rings)
    assert heard.rings == [PLACED]
    assert len(channel_of("s" * 63, "").encode()) <= 63


def test_a_bell_without_a_database_delays_no_commit_and_is_told_of_once(
    postgres_copy: str, caplog: pytest.LogCaptureFixture
) -> None:
    """design 12"""
    nobody = make_url(postgres_copy).set(port=free_port())
    address = nobody.render_as_string(hide_password=False)
    with ringing_application(postgres_copy, bell_url=address) as app:
        publish(app, Placed(order_id=0))
        started = perf_counter()
        for number in range(100):
            publish(app, Placed(order_id=number))
        assert perf_counter() - started < 5
        until(lambda: "the bell cannot reach" in caplog.text)
    assert len([one for one in caplog.messages if "the bell cannot reach" in one]) == 1


def test_a_bell_comes_back_and_then_says_everywhere(
    postgres_server: PostgresServer, postgres_copy: str, caplog: pytest.LogCaptureFixture
) -> None:
    """design 12: it has dropped what came meanwhile"""
    database = str(make_url(postgres_copy).database)
    with (
        pgbouncer_instance(postgres_server) as way,
        ringing_application(postgres_copy, bell_url=way.url(database)) as app,
        listener(app) as heard,
    ):
        publish(app, Placed(order_id=1))
        until(lambda: heard.rings == [PLACED])
        way.stop()
        publish(app, Placed(order_id=2))
        until(lambda: "the bell cannot reach" in caplog.text)
        way.start()
        until(lambda: heard.rings == [PLACED, EVERYWHERE], 30)
        until(lambda: "the bell rings again" in caplog.text)
        publish(app, Placed(order_id=3))
        until(lambda: heard.rings == [PLACED, EVERYWHERE, PLACED])


def test_a_bell_rings_after_a_fork(postgres_copy: str) -> None:
    """design 12: a web server that forks after its first use"""
    with ringing_application(postgres_copy) as app, listener(app) as heard:
        done = run(FORKING, postgres_copy)
        assert done.returncode == 0, done.stderr
        both = {"event:free:child/x", "event:free:parent/x"}
        until(lambda: both <= EVERYWHERE.union(*heard.rings))


def test_a_bell_keeps_no_process_from_ending(postgres_copy: str) -> None:
    """design 12: not even one that waits for a commit which never ends"""
    done = run(ENDING, postgres_copy)
    assert (done.returncode, done.stderr) == (0, "")


def test_closing_rings_what_waits(postgres_copy: str) -> None:
    """design 12: a script that publishes and ends is heard, too"""
    with ringing_application(postgres_copy) as app, listener(app) as heard:
        bell = PostgresBell(connector(app.url, "test"), channel_of("todoke", ""))
        over = threading.Event()
        bell.ring({"event:free:late/x"}, over.is_set)
        threading.Timer(0.1, over.set).start()
        bell.close()
        until(lambda: heard.rings)
    assert heard.rings == [{"event:free:late/x"}]


def test_a_bell_that_was_closed_rings_again(postgres_copy: str) -> None:
    """design 12: a web application that is started again in one process"""
    with ringing_application(postgres_copy) as app, listener(app) as heard:
        bell = PostgresBell(connector(app.url, "test"), channel_of("todoke", ""))
        for number in range(3):
            bell.ring({f"event:free:{number}/x"})
            bell.close()
        until(lambda: len(heard.rings) == 3)
    assert heard.rings == [{f"event:free:{number}/x"} for number in range(3)]


def run(script: str, url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", script, url]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )


PREPARE = """
import os, sys
from sqlalchemy import make_url
from todoke.databases.postgres_bell import PostgresBell, channel_of, connector
bell = PostgresBell(connector(make_url(sys.argv[1]), "test"), channel_of("todoke", ""))
bell.ring({"event:free:first/x"})
"""
FORKING = f"""{PREPARE}
while bell._connection is None: pass
child = os.fork()
bell.ring({{"event:free:parent/x" if child else "event:free:child/x"}})
bell.close()
if child:
    assert os.waitpid(child, 0)[1] == 0
    bell._execute(bell._connect(), "event:free:again/x")
"""
ENDING = f"""{PREPARE}
bell.ring({{"event:free:never/x"}}, lambda: False)
"""
