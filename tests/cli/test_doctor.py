"""`todoke doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.cli.project import Project
from tests.servers.place import free_port


def test_what_is_well_is_one_line_each(any_project: Project) -> None:
    """OP-1: verdict, check, and the real value; a worker is missing, which is not bad"""
    result = any_project.run("doctor")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ok       database")
    assert any(one.startswith("warn     workers") for one in lines)
    assert sum("remedy: " in one for one in lines) == 1
    assert lines[-1].endswith(" ok, 1 warn")
    assert result.stdout.isascii()


def test_programs_get_findings(any_project: Project) -> None:
    """OP-1"""
    told = any_project.ask("doctor")
    assert {"check", "verdict", "found", "remedy"} == set(told[0])
    assert told[0]["verdict"] == "ok"
    assert next(one for one in told if one["check"] == "workers")["remedy"]


def test_something_bad_is_exit_code_1(empty_project: Project) -> None:
    """OP-1: here the tables are missing; the findings are told all the same"""
    if empty_project.url.startswith("sqlite"):
        Path(str(make_url(empty_project.url).database)).touch()
    result = empty_project.run("doctor")
    assert result.exit_code == 1
    assert "bad      tables" in result.stdout
    assert "remedy: Run `todoke migrate`." in result.stdout
    assert "ok       durability" in result.stdout
    as_json = empty_project.run("doctor", "--json")
    assert as_json.exit_code == 1
    assert [one["verdict"] for one in json.loads(as_json.stdout) if one["check"] == "tables"] == [
        "bad"
    ]


def test_a_database_that_is_away_is_said_in_one_line(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-1: no traceback, and no password"""
    address = f"postgresql://mika:hidden@127.0.0.1:{free_port()}/shop"
    monkeypatch.setenv("TODOKE_DATABASE_URL", address)
    result = project.run("doctor")
    assert result.exit_code == 1
    assert result.stdout.startswith("bad      database  postgresql://127.0.0.1:")
    assert "cannot be reached" in result.stdout
    assert "hidden" not in result.output


def test_how_long_a_transaction_may_be_can_be_said(any_project: Project) -> None:
    """reliability B25: on SQLite nobody can tell"""
    with any_project.app.engine.connect() as other:
        other.execute(any_project.app.outbox_table.live.select())
        assert "pg_terminate_backend" not in any_project.run("doctor").stdout
        said = any_project.run("doctor", "--long-transaction", "0s").stdout
    is_server = any_project.url.startswith("postgresql")
    assert ("remedy: SELECT pg_terminate_backend(" in said) == is_server
    refused = any_project.run("doctor", "--long-transaction", "7")
    assert (refused.exit_code, "length of time" in refused.stderr) == (1, True)
