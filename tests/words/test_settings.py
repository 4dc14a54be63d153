"""What code, environment and TOML said, in this order of weight."""

from __future__ import annotations

from pathlib import Path

import pytest

from todoke import Backoff, Settings, Todoke
from todoke.errors import InvalidOption


def settings(values: dict[str, object] | None = None, **environment: str) -> Settings:
    return Settings(values, environment=environment)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_word_the_defaults_hold(folder: Path) -> None:
    """OB-5 OB-7"""
    loaded = Settings.load()
    assert (loaded.database_url, loaded.seconds("outbox.poll"), loaded.number("outbox.batch")) == (
        "sqlite:///todoke.db", 1.0, 100,
    )  # fmt: skip
    assert (loaded.seconds("lease.duration"), loaded.seconds("worker.timeout")) == (15.0, 600.0)


def test_toml_is_read_by_dotted_names(folder: Path) -> None:
    """OB-5"""
    (folder / "todoke.toml").write_text('name = "shop"\n[outbox]\npoll = "5s"\n')
    loaded = Settings.load()
    assert (loaded.text("name"), loaded.seconds("outbox.poll")) == ("shop", 5.0)


def test_a_project_file_is_read_where_there_is_no_own_one(folder: Path) -> None:
    """OB-5"""
    (folder / "pyproject.toml").write_text('[tool.todoke]\nname = "shop"\n')
    assert Settings.load().text("name") == "shop"


def test_broken_toml_is_told_with_its_place(folder: Path) -> None:
    """OB-5"""
    (folder / "todoke.toml").write_text("name = \n")
    with pytest.raises(InvalidOption, match=r"todoke\.toml.*no valid TOML"):
        Settings.load()


def test_the_environment_wins_over_toml() -> None:
    """OB-5"""
    assert settings({"outbox": {"batch": 5}}, TODOKE_OUTBOX_BATCH="7").number("outbox.batch") == 7


@pytest.mark.parametrize("said", [{"outbox.batch": 9}, {"outbox": {"batch": 9}}], ids=str)
def test_what_the_code_says_wins_over_both(said: dict[str, object]) -> None:
    """OB-5"""
    given = settings({"outbox": {"batch": 5}}, TODOKE_OUTBOX_BATCH="7")
    assert given.with_values(said).number("outbox.batch") == 9
    assert given.number("outbox.batch") == 7


def test_an_argument_of_the_application_wins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OB-5"""
    (folder / "todoke.toml").write_text('[database]\nurl = "sqlite:///toml.db"\n')
    monkeypatch.setenv("TODOKE_DATABASE_URL", "sqlite:///environment.db")
    assert str(Todoke().url) == "sqlite:///environment.db"
    assert str(Todoke("sqlite:///argument.db").url) == "sqlite:///argument.db"


@pytest.mark.parametrize("where", ["given", "added"])
def test_a_misspelt_name_of_ours_is_refused_with_the_right_ones(where: str) -> None:
    """OB-5"""
    with pytest.raises(InvalidOption, match=r"outbox\.pol = .*Known: .*outbox\.poll"):
        if where == "given":
            settings({"outbox": {"pol": "1s"}})
        else:
            settings().with_values({"outbox.pol": "1s"})


def test_groups_of_jobs_are_the_applications() -> None:
    """SH-9, JB-7: what its jobs want to be told."""
    told = settings({"jobs": {"sftp": {"strategy": "local"}}}, TODOKE_JOBS_SFTP_HOST="wms")
    assert (told.get("jobs.sftp.strategy"), told.get("jobs.sftp.host")) == ("local", "wms")


@pytest.mark.parametrize("name", ["jobs.enable.export", "jobs.schedules.export", "jobs.keeps"])
def test_a_slip_of_the_pen_is_no_group_of_jobs(name: str) -> None:
    """JB-4, JB-7"""
    with pytest.raises(InvalidOption, match=r"did you mean jobs\.|no such setting"):
        settings({name: True})


def test_other_sections_are_the_users() -> None:
    """OB-5"""
    given = settings({"smtp": {"url": "smtp://mail"}}, TODOKE_SMTP_PORT="25")
    assert (given.get("smtp.url"), given.get("smtp.port"), given.get("smtp.host", "?")) == (
        "smtp://mail", "25", "?",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "remedy"), [("many", "must be a whole number"), ("0", "must be at least 1")]
)
def test_a_number_that_cannot_be_meant_is_refused(value: str, remedy: str) -> None:
    """OB-5"""
    with pytest.raises(InvalidOption, match=remedy):
        settings(TODOKE_OUTBOX_BATCH=value).number("outbox.batch")


def test_a_batch_is_100_unless_a_profile_says_otherwise() -> None:
    """OB-5"""
    assert (settings().profile, settings().batch) == ("safe", 100)
    fast = settings({"outbox": {"profile": "throughput"}})
    assert (fast.batch, fast.number("outbox.batch")) == (500, 500)
    assert {name: value for name, value, _ in fast.explain()}["outbox.batch"] == 500
    assert settings({"outbox": {"profile": "throughput", "batch": 200}}).batch == 200
    assert settings({"outbox": {"batch": 100}}).batch == 100


def test_more_than_100_at_once_is_an_explicit_profile() -> None:
    """OB-5"""
    with pytest.raises(InvalidOption, match=r'more than 100 needs outbox.profile = "throughput"'):
        _ = settings({"outbox": {"batch": 101}}).batch
    with pytest.raises(InvalidOption, match="one of safe, throughput"):
        _ = settings({"outbox": {"profile": "fast"}}).profile


def test_a_retry_policy_may_be_added_or_changed() -> None:
    """ER-2"""
    given = settings({"retry": {"mail": {"delays": ["1m"]}, "slow": {"attempts": 2}}})
    policies = given.retry_policies
    assert (policies["mail"], policies["slow"]) == (Backoff("1m"), Backoff(attempts=2))
    assert policies["default"] == Backoff("1s", "2s", "4s")


def test_queues_are_named_with_how_many_run_at_once() -> None:
    """OB-5"""
    assert settings().queues == {"default": 16}
    assert settings({"worker": {"queues": {"default": 4, "files": 1}}}).queues == {
        "default": 4, "files": 1,
    }  # fmt: skip


def test_what_people_see_of_settings_holds_no_secret() -> None:
    """SE-2"""
    given = settings({"database.url": "postgresql://me:secret@db/shop"})
    assert repr(given) == "Settings(database.url)"
