"""`todoke settings` and `todoke crash-points`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.project import Project
from todoke import Settings
from todoke.crash import POINTS
from todoke.errors import InvalidOption


def told(project: Project) -> dict[str, tuple[object, str]]:
    return {one["name"]: (one["value"], one["from"]) for one in project.ask("settings")}


def test_each_setting_says_where_it_came_from(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-5: default, file or environment."""
    Path("todoke.toml").write_text('outbox.poll = "2s"\noutbox.batch = 7\n')
    monkeypatch.setenv("TODOKE_OUTBOX_BATCH", "9")
    found = told(project)
    assert found["outbox.poll"] == ("2s", "todoke.toml")
    assert found["outbox.batch"] == ("9", "environment")
    assert found["lease.duration"] == ("15s", "default")


def test_code_wins_and_is_named(project: Project) -> None:
    """OB-5: what the application says itself."""
    project.write("from todoke import Todoke\napp = Todoke(name='depot')\n")
    assert told(project)["name"] == ("depot", "code")


def test_settings_are_shown_without_an_application(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-5: those that would be found here."""
    monkeypatch.delenv("TODOKE_APP")
    Path("pyproject.toml").write_text('[tool.todoke]\nname = "depot"\n')
    assert told(project)["name"] == ("depot", "pyproject.toml")


def test_secrets_are_hidden(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """OB-5: passwords in addresses, and whatever a secret's name gives away."""
    monkeypatch.delenv("TODOKE_APP")
    monkeypatch.setenv("TODOKE_DATABASE_URL", "postgresql://mika:hid@den@db/x?sslpassword=hidden")
    Path("todoke.toml").write_text(
        '[smtp]\npassword = "hidden"\napi_token = "hidden"\nurl = "smtp://a:hidden@mail"\n'
    )
    found = told(project)
    assert found["database.url"][0] == "postgresql://mika:***@db/x?sslpassword=***"
    assert found["smtp.password"][0] == "***"
    assert found["smtp.api_token"][0] == "***"
    assert found["smtp.url"][0] == "smtp://a:***@mail"
    said = project.run("settings").stdout
    assert "hid" not in said


def test_a_setting_that_does_not_exist_is_refused(project: Project) -> None:
    """OB-5: a misspelt one stops every command."""
    Path("todoke.toml").write_text("outbox.pol = 1\n")
    result = project.run("settings")
    assert result.exit_code == 1
    assert "outbox.pol" in result.stderr


def test_queues_stand_in_one_text() -> None:
    """OB-5: the environment says them as the command line does, and instead of the file."""
    settings = Settings(
        {"worker.queues": {"default": 16}}, environment={"TODOKE_WORKER_QUEUES": "a=4, b=2"}
    )
    assert settings.queues == {"a": 4, "b": 2}
    names = [name for name, _, _ in settings.explain() if name.startswith("worker.queues")]
    assert names == ["worker.queues"]


def test_queues_of_a_file_stand_one_by_one() -> None:
    """OB-5: the default is not shown then."""
    settings = Settings({"worker.queues": {"files": 2}}, environment={})
    names = [name for name, _, _ in settings.explain() if name.startswith("worker.queues")]
    assert names == ["worker.queues.files"]


@pytest.mark.parametrize("text", ["", "a", "a=", "=4", "a=0", "a=-1", "a=x", "a=4,,b=2"])
def test_queues_that_cannot_be_meant_are_refused(text: str) -> None:
    """OB-5: with the way to write them."""
    with pytest.raises(InvalidOption, match="default=16,files=2"):
        _ = Settings(environment={"TODOKE_WORKER_QUEUES": text}).queues


def test_crash_points_are_listed(project: Project) -> None:
    """OB-7: the names that TODOKE_CRASH takes; an application that is not asked for has none."""
    assert project.alone("crash-points").split() == list(POINTS)
    assert json.loads(project.alone("crash-points", "--json")) == list(POINTS)
