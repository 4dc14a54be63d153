"""Where mail goes is a setting, under todoke's names and under the plain ones."""

from pathlib import Path

import pytest

from shop.notifications.smtp_settings import SmtpSettings
from todoke import Settings

SESAME = "open sesame"


@pytest.fixture(autouse=True)
def _no_mail_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST", "PORT", "USERNAME", "PASSWORD", "STARTTLS", "CA_FILE", "FROM"):
        monkeypatch.delenv(f"MAIL_{name}", raising=False)


def read(**mail: object) -> SmtpSettings:
    return SmtpSettings.read(Settings({"mail": mail}, environment={}))


def test_without_settings_mail_goes_to_the_catcher_on_this_machine() -> None:
    """SH-4"""
    assert read() == SmtpSettings(host="localhost", port=1025, starttls=False)


def test_plain_variables_say_where_mail_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """SH-4"""
    monkeypatch.setenv("MAIL_HOST", "mail.example.com")
    monkeypatch.setenv("MAIL_PORT", "587")
    monkeypatch.setenv("MAIL_STARTTLS", "true")
    monkeypatch.setenv("MAIL_USERNAME", "shop")
    monkeypatch.setenv("MAIL_PASSWORD", SESAME)
    monkeypatch.setenv("MAIL_FROM", "order@shop.example")
    assert read() == SmtpSettings(
        host="mail.example.com",
        port=587,
        starttls=True,
        username="shop",
        password=SESAME,
        sender="order@shop.example",
    )


def test_settings_win_over_plain_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """SH-4"""
    monkeypatch.setenv("MAIL_HOST", "other.example.com")
    assert read(host="mail.example.com").host == "mail.example.com"


def test_settings_may_come_as_numbers_and_switches() -> None:
    """SH-4"""
    found = read(port=2525, starttls=True, ca_file="/etc/ca.pem")
    assert (found.port, found.starttls, found.ca_file) == (2525, True, Path("/etc/ca.pem"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("port", "smtp"), ("port", "0"), ("port", "70000"), ("starttls", "maybe"), ("from", "shop")],
)
def test_a_setting_that_cannot_be_meant_is_named(name: str, value: str) -> None:
    """SH-4"""
    with pytest.raises(ValueError, match=rf"mail\.{name}"):
        read(**{name: value})


def test_a_password_is_not_sent_in_the_clear_to_another_machine() -> None:
    """SE-3"""
    with pytest.raises(ValueError, match="starttls"):
        read(host="mail.example.com", username="shop", password=SESAME)


def test_the_password_is_not_shown() -> None:
    """SE-2"""
    assert SESAME not in repr(read(username="shop", password=SESAME))
