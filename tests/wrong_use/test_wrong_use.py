"""Whoever uses it wrong is told what is wrong, where, and what to do; nothing is half written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from tests.application import application
from tests.cli.project import environment
from tests.wrong_use.building import BUILDING
from tests.wrong_use.commands import COMMANDS, SHOP, WITH_TABLES, WrongCommand
from tests.wrong_use.connecting import CONNECTING
from tests.wrong_use.declaring import DECLARING
from tests.wrong_use.injecting import INJECTING
from tests.wrong_use.misuse import Misuse, Placed, ordering
from tests.wrong_use.publishing import PUBLISHING
from todoke import Todoke

WITHOUT_DRIVER = """
import sys
from importlib.abc import MetaPathFinder

class Nowhere(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == DRIVER:
            raise ModuleNotFoundError(f"No module named {DRIVER!r}", name=DRIVER)

DRIVER = sys.argv[1]
sys.meta_path.insert(0, Nowhere())
from todoke import Todoke
app = Todoke(sys.argv[2])
print(getattr(app, sys.argv[3]))
"""


@pytest.fixture
def app(migrated_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Todoke]:
    monkeypatch.chdir(tmp_path)
    yield from built(migrated_url)


@pytest.fixture
def plain_app(
    sqlite_copy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Todoke]:
    """Where the kind of database makes no difference."""
    monkeypatch.chdir(tmp_path)
    yield from built(sqlite_copy)


def built(url: str) -> Iterator[Todoke]:
    with application(url) as app:
        with app.engine.begin() as connection:
            connection.execute(text("CREATE TABLE orders (id INTEGER)"))
        yield app


def refusal(app: Todoke, misuse: Misuse) -> str:
    with pytest.raises(misuse.error) as refused:
        misuse.do(app)
    return str(refused.value)


def written(app: Todoke) -> int:
    """Rows of the caller's and of ours."""
    tables = [app.outbox_table.live, app.outbox_table.history, app.inbox_table.live]
    with app.engine.connect() as connection:
        count = connection.execute(text("SELECT count(*) FROM orders")).scalar_one()
        for table in (*tables, app.letter_table):
            count += connection.execute(select(func.count()).select_from(table)).scalar_one()
    return int(count)


def test_there_are_thirty_kinds_and_more() -> None:
    """TS-2"""
    kinds = [*PUBLISHING, *CONNECTING, *DECLARING, *INJECTING, *BUILDING, *COMMANDS, *WITH_TABLES]
    assert len({str(one) for one in kinds}) == len(kinds) >= 30


@pytest.mark.parametrize("misuse", PUBLISHING, ids=str)
def test_wrong_publishing_is_told_clearly_and_writes_nothing(app: Todoke, misuse: Misuse) -> None:
    """OB-1 OB-2 api 3.11: neither the event nor the caller's own row"""
    told = refusal(app, misuse)
    assert not [word for word in misuse.words if word not in told], told
    assert written(app) == 0


@pytest.mark.parametrize("misuse", CONNECTING, ids=str)
def test_a_wrong_connection_is_told_clearly_and_writes_nothing(
    plain_app: Todoke, misuse: Misuse
) -> None:
    """OB-1 api 3.11"""
    told = refusal(plain_app, misuse)
    assert not [word for word in misuse.words if word not in told], told
    assert written(plain_app) == 0


@pytest.mark.parametrize("misuse", [*DECLARING, *INJECTING, *BUILDING], ids=str)
def test_a_wrong_declaration_is_told_clearly(plain_app: Todoke, misuse: Misuse) -> None:
    """api 1.9, 3.11: before the first message"""
    told = refusal(plain_app, misuse)
    assert not [word for word in misuse.words if word not in told], told
    assert written(plain_app) == 0


def test_a_refusal_shows_nothing_of_what_was_published(plain_app: Todoke) -> None:
    """SE-2: it may be personal"""
    (dictionary,) = [one for one in PUBLISHING if one.what.startswith("a dictionary")]
    assert "hanako" not in refusal(plain_app, dictionary)


def test_an_application_that_was_closed_still_publishes(app: Todoke) -> None:
    """OB-1: it connects again; only wake-ups are left to polling"""
    app.close()
    ordering(app, lambda session: app.publish(session, Placed(order_id=1)))
    assert written(app) == 2


@pytest.mark.parametrize(
    ("driver", "url", "engine", "extra"),
    [
        ("psycopg", "postgresql://nobody@127.0.0.1:1/shop", "engine", "postgres"),
        ("pymysql", "mariadb://nobody@127.0.0.1:1/shop", "engine", "mariadb"),
        ("aiomysql", "mariadb://nobody@127.0.0.1:1/shop", "async_engine", "mariadb"),
        ("aiosqlite", "sqlite:///shop.db", "async_engine", "aiosqlite"),
    ],
)
def test_a_missing_driver_is_named_with_the_extra_that_brings_it(
    tmp_path: Path, driver: str, url: str, engine: str, extra: str
) -> None:
    """api 3.11"""
    program = [sys.executable, "-c", WITHOUT_DRIVER, driver, url, engine]
    finished = subprocess.run(
        program, check=False, cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    last = finished.stderr.strip().splitlines()[-1]
    assert last == (
        f"todoke.errors.MissingDriver: the driver {driver} is not installed. "
        f"Run `pip install 'todoke[{extra}]'`."
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in environment().items() if "TODOKE_" not in name}
    return subprocess.run(
        [sys.executable, "-m", "todoke", *arguments],
        check=False,
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("command", [*COMMANDS, *WITH_TABLES], ids=str)
def test_a_wrong_command_is_answered_with_one_line(shop: Path, command: WrongCommand) -> None:
    """api 3.10, 3.11: no traceback, exit code 1"""
    if command in WITH_TABLES:
        assert run(shop, "migrate", "--app", "shop:app").returncode == 0
    finished = run(shop, *command.arguments)
    assert finished.returncode == 1
    (line,) = finished.stderr.splitlines()
    assert not [word for word in command.words if word not in line], line
    assert (shop / "shop.db").exists() == (command in WITH_TABLES)
