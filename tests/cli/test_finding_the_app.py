"""Which application a command works on, and what is said when it cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.project import APP, SOURCE, Project


def refusal(project: Project, *arguments: str) -> str:
    """What a refused command says: one line on stderr, no traceback, exit code 1."""
    result = project.run(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_the_command_line_names_the_application(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ER-3: --app is enough."""
    monkeypatch.delenv("TODOKE_APP")
    assert project.run("status", "--app", APP).exit_code == 0


def test_the_settings_file_names_the_application(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ER-3: so does todoke.toml."""
    monkeypatch.delenv("TODOKE_APP")
    Path("todoke.toml").write_text(f'app = "{APP}"\n')
    assert project.run("status").exit_code == 0


def test_no_application_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """ER-3: the refusal tells the three ways to name one."""
    monkeypatch.delenv("TODOKE_APP")
    said = refusal(project, "status")
    assert "--app" in said
    assert "TODOKE_APP" in said
    assert "todoke.toml" in said


@pytest.mark.parametrize("name", ["parcels_app", "parcels_app:", ":app"])
def test_half_a_name_is_refused(project: Project, name: str) -> None:
    """ER-3: both parts are needed."""
    assert "module:attribute" in refusal(project, "status", "--app", name)


def test_a_module_that_is_not_there(project: Project) -> None:
    """ER-3: the refusal says what was looked for, and where."""
    said = refusal(project, "status", "--app", "nowhere.app:app")
    assert "no module 'nowhere.app'" in said
    assert str(project.folder) in said


def test_a_module_that_imports_what_is_not_there(project: Project) -> None:
    """ER-3: the missing import is named with its place, not the application."""
    project.write("import nowhere\n")
    said = refusal(project, "status")
    assert "No module named 'nowhere'" in said
    assert "parcels_app.py:1" in said


@pytest.mark.parametrize(
    ("source", "error"),
    [("1 / 0\n", "ZeroDivisionError"), ("x =\n", "SyntaxError")],
)
def test_a_module_that_fails(project: Project, source: str, error: str) -> None:
    """ER-3: its error is told with its place."""
    project.write("\n" + source)
    said = refusal(project, "status")
    assert error in said
    assert "parcels_app.py:2" in said


def test_a_module_without_the_attribute(project: Project) -> None:
    """ER-3: the refusal says which applications there are."""
    said = refusal(project, "status", "--app", "parcels_app:shop")
    assert "shop does not exist" in said
    assert "There is app." in said


def test_an_attribute_that_is_no_application(project: Project) -> None:
    """ER-3: the refusal says what it is instead."""
    said = refusal(project, "status", "--app", "parcels_app:build")
    assert "build is of type function" in said


def test_a_refusal_of_the_application_itself_is_passed_on(project: Project) -> None:
    """ER-3: what is wrong with a handler is told as it is."""
    project.write(
        SOURCE
        + "from todoke import Event\n"
        + "class Odd(Event, ordered=False): pass\n"
        + "@app.on(Odd)\n"
        + "def odd(event: Odd, mailer: dict) -> None: ...\n"
    )
    assert "asks for mailer: dict" in refusal(project, "worker")


def test_a_missing_database_file_is_not_created(project: Project) -> None:
    """ER-3: a misspelt path is told, not made."""
    project.write(SOURCE.replace("build()", "build('sqlite:///misspelt.db')"))
    assert str(project.folder / "misspelt.db") in refusal(project, "status")
    assert not Path("misspelt.db").exists()


def test_a_database_without_tables(empty_project: Project) -> None:
    """ER-3: the refusal names the remedy."""
    with empty_project.app.engine.connect():
        assert "todoke migrate" in refusal(empty_project, "status")


def test_a_database_that_is_away(project: Project) -> None:
    """ER-3: one line without the password."""
    project.write(
        SOURCE.replace("build()", "build('postgresql://mika:hidden@127.0.0.1:1/parcels')")
    )
    said = refusal(project, "status")
    assert "postgresql://127.0.0.1:1/parcels cannot be reached" in said
    assert "hidden" not in said


def test_an_unknown_option_is_a_usage_error(project: Project) -> None:
    """ER-3: usage errors have exit code 2."""
    assert project.run("status", "--nonsense").exit_code == 2
