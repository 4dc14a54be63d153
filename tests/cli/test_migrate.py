"""`todoke migrate` and `todoke --version`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from sqlalchemy import inspect, make_url

from tests.cli.project import Project


def test_the_tables_are_created_once(empty_project: Project) -> None:
    """OB-2: the first time they are created, the second time nothing is left to do."""
    first = empty_project.run("migrate")
    assert first.exit_code == 0
    assert first.stdout.startswith("Created the tables in ")
    second = empty_project.run("migrate")
    assert second.exit_code == 0
    assert "up to date" in second.stdout


def test_the_address_is_shown_without_user_and_password(
    empty_project: Project,
) -> None:
    """OB-2: what a command says can be pasted anywhere."""
    said = empty_project.run("migrate").stdout
    assert "@" not in said
    assert str(make_url(empty_project.url).database) in said


def test_sql_is_printed_without_a_database(empty_project: Project) -> None:
    """OB-2: a person with other rights can run it by hand; nothing is connected to."""
    result = empty_project.run("migrate", "--sql")
    assert result.exit_code == 0
    assert "CREATE TABLE" in result.stdout
    tables = inspect(empty_project.app.engine).get_table_names(empty_project.app.database.schema)
    assert not tables


def test_the_printed_sql_makes_the_tables(empty_project: Project) -> None:
    """OB-2: after it was run by hand, `migrate` finds nothing left to do."""
    script = empty_project.run("migrate", "--sql").stdout
    with closing(empty_project.app.engine.raw_connection()) as pooled:
        connection: Any = pooled.driver_connection
        if isinstance(connection, sqlite3.Connection):
            connection.executescript(script)
        elif empty_project.app.database.kind == "mariadb":
            cursor = connection.cursor()
            for statement in filter(str.strip, script.split(";\n")):
                cursor.execute(statement)
            connection.commit()
        else:
            connection.execute(script)
            connection.commit()
    assert "up to date" in empty_project.run("migrate").stdout


def test_tables_of_a_newer_release_are_left_alone(project: Project) -> None:
    """OB-2: an older release says that it is older, and touches nothing."""
    with project.app.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE todoke_version SET version_num = '9999'")
    result = project.run("migrate")
    assert result.exit_code == 1
    assert "revision 9999, which this release does not know" in result.stderr


def test_the_version_is_told(project: Project) -> None:
    """OB-2: `todoke --version` needs no application."""
    result = project.run("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("todoke")
