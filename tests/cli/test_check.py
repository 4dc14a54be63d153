"""`todoke check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.project import MODULE, Project
from tests.servers.place import free_port

SOURCE = """
from todoke import Event, Key, Todoke

app = Todoke()

class ShopEvent(Event, context="shop"):
    "What the others share: not a name of its own."

class Placed(ShopEvent):
    order_id: Key[int]

class Unheard(ShopEvent, ordered=False):
    "Nobody here handles it."

@app.on(Placed)
def tell(event: Placed) -> None: ...
"""
NAMES = "todoke.names.json"


@pytest.fixture
def shop(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project on a database that is not there."""
    address = f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"
    monkeypatch.setenv("TODOKE_DATABASE_URL", address)
    project.write(SOURCE)
    return project


def change(shop: Project, old: str, new: str) -> None:
    source = (shop.folder / f"{MODULE}.py").read_text(encoding="utf-8")
    assert old in source
    shop.write(source.replace(old, new))


def recorded(shop: Project) -> list[str]:
    names = json.loads((shop.folder / NAMES).read_text(encoding="utf-8"))
    return [*names["events"], *names["handlers"]]


def test_names_are_recorded_and_then_all_is_well_without_a_database(shop: Project) -> None:
    """api 1.8, 3.10"""
    first = shop.run("check")
    assert first.exit_code == 1
    assert "bad      names     there is no todoke.names.json yet" in first.stdout
    assert "remedy: Run `todoke check --write` and commit the file." in first.stdout
    assert shop.run("check", "--write").exit_code == 0
    assert recorded(shop) == ["shop/placed", "shop/unheard", "tell"]
    again = shop.run("check")
    assert again.exit_code == 0
    assert again.stdout.splitlines()[-1] == "3 findings: 3 ok"
    assert again.stdout.isascii()


def test_the_file_is_readable_and_says_the_same_each_time(shop: Project) -> None:
    """api 1.8: a difference shows what changed"""
    shop.run("check", "--write")
    first = (shop.folder / NAMES).read_text(encoding="utf-8")
    assert '        "order_id": "integer"\n' in first
    shop.run("check", "--write")
    assert (shop.folder / NAMES).read_text(encoding="utf-8") == first


def test_a_renamed_event_fails_until_it_is_forgotten(shop: Project) -> None:
    """api 1.8: also one that nobody here handles"""
    shop.run("check", "--write")
    change(shop, "class Unheard", "class Unseen")
    refused = shop.run("check", "--write")
    assert refused.exit_code == 1
    assert "bad      event     shop/unheard is not declared any more" in refused.stdout
    assert 'context="shop", type="unheard"' in refused.stdout
    assert recorded(shop) == ["shop/placed", "shop/unheard", "shop/unseen", "tell"]
    assert shop.run("check", "--write", "--forget", "shop/unheard").exit_code == 0
    assert recorded(shop) == ["shop/placed", "shop/unseen", "tell"]


def test_a_renamed_handler_fails_until_it_is_forgotten(shop: Project) -> None:
    """api 1.8"""
    shop.run("check", "--write")
    change(shop, "def tell", "def say")
    refused = shop.run("check")
    assert refused.exit_code == 1
    assert "bad      handler   tell is not declared any more" in refused.stdout
    assert "warn     handler   say is not recorded yet" in refused.stdout
    assert shop.run("check", "--write", "--forget", "tell").exit_code == 0


def test_a_breaking_change_needs_a_higher_version(shop: Project) -> None:
    """MS-4"""
    shop.run("check", "--write")
    change(shop, "order_id: Key[int]", "order_id: Key[int]\n    total: int")
    refused = shop.run("check", "--write")
    assert refused.exit_code == 1
    assert "shop/placed v1 requires `total`, which was not there" in refused.stdout
    assert "Undo it, or declare version=2" in refused.stdout
    change(shop, "class Placed(ShopEvent)", "class Placed(ShopEvent, version=2)")
    unrecorded = shop.run("check")
    assert (unrecorded.exit_code, "warn     event     shop/placed" in unrecorded.stdout) == (
        1,
        True,
    )
    assert shop.run("check", "--write").exit_code == 0


def test_what_a_worker_would_refuse_fails(shop: Project) -> None:
    """api 1.9"""
    shop.run("check", "--write")
    change(shop, "event: Placed)", "event: Placed, mailer: Event)")
    result = shop.run("check")
    assert result.exit_code == 1
    assert "bad      handler   handler 'tell'" in result.stdout
    assert "asks for mailer: Event, but nothing provides Event" in result.stdout


def test_programs_get_findings(shop: Project) -> None:
    """api 3.10"""
    shop.run("check", "--write")
    assert [one["verdict"] for one in shop.ask("check")] == ["ok", "ok", "ok"]
    change(shop, "def tell", "def say")
    result = shop.run("check", "--json")
    assert result.exit_code == 1
    assert {"check", "verdict", "found", "remedy"} == set(json.loads(result.stdout)[0])


def test_the_file_may_lie_elsewhere(shop: Project, tmp_path: Path) -> None:
    """api 3.10"""
    elsewhere = tmp_path / "names.json"
    assert shop.run("check", "--write", "--names", elsewhere).exit_code == 0
    assert elsewhere.exists()
    assert not (shop.folder / NAMES).exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--forget", "tell"), "say --write, too"),
        (("--write", "--forget", "tel"), "has no such event, handler or job"),
    ],
)
def test_forgetting_what_cannot_be_forgotten_is_refused(
    shop: Project, arguments: tuple[str, ...], told: str
) -> None:
    """api 3.10"""
    shop.run("check", "--write")
    result = shop.run("check", *arguments)
    assert result.exit_code == 1
    assert told in result.stderr
    assert recorded(shop) == ["shop/placed", "shop/unheard", "tell"]
