"""A worker is killed at the worst moment: the mail server has the mail, the database not yet."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from shop.mailbox.mailbox import CaughtMail
from shop.mailbox.server import MailServer
from shop.testing import Sandbox, sandbox
from todoke.testing import Clock


def run_a_worker_until_killed(shop: Sandbox, migrated_url: str, on_crash: str) -> None:
    """Kill a real worker process while the mail server is taking its mail."""
    told = {
        "TODOKE_DATABASE_URL": migrated_url,
        "TODOKE_HANDLERS_ORDER_MAIL_ON_CRASH": on_crash,
        "TODOKE_MAIL_HOST": shop.mail.hostname,
        "TODOKE_MAIL_PORT": str(shop.mail.port),
    }
    # Without the supervisor of `todoke worker`, which would start another at once.
    command = [sys.executable, "-c", "from shop.app import app; app.run()"]
    with subprocess.Popen(command, env=os.environ | told) as worker:

        def kill(_: CaughtMail) -> None:
            worker.kill()

        shop.mail.on_mail = kill
        try:
            assert worker.wait(60) == -signal.SIGKILL
        finally:
            worker.kill()
            shop.mail.on_mail = None


@pytest.fixture
def clock() -> Clock:
    """The time of the worker process, which knows no other."""
    return Clock(datetime.now(UTC))


@pytest.fixture
def killed(
    migrated_url: str, mail_server: MailServer, clock: Clock, request: pytest.FixtureRequest
) -> Iterator[Sandbox]:
    """A shop whose worker was killed in the middle of a mail, an hour ago."""
    on_crash = str(request.param)
    with sandbox(migrated_url, mail_server, clock, on_crash=on_crash) as shop:
        shop.place_and_confirm()
        run_a_worker_until_killed(shop, migrated_url, on_crash)
        clock.advance("1h")
        yield shop


@pytest.mark.parametrize("killed", ["retry"], indirect=True)
def test_the_second_copy_carries_the_same_message_id(killed: Sandbox) -> None:
    """SH-4, OB-7, TS-3 (A §6, 7)"""
    killed.work()
    first, second = killed.mail.mailbox.newest_first()
    assert first.raw == second.raw
    assert len({letter.message_id for letter in killed.letters()}) == 1
    assert killed.mail_statuses() == ["PROCESSED"]


@pytest.mark.parametrize("killed", ["ask"], indirect=True)
def test_asked_first_no_second_copy_is_sent(killed: Sandbox) -> None:
    """SH-4, TS-3 (A §6, 7): a person decides."""
    killed.work("1h")
    (letter,) = killed.dead_letters()
    assert (letter.name, letter.code) == ("order-mail", "OUTCOME_UNKNOWN")
    assert len(killed.letters()) == 1


@pytest.mark.parametrize("killed", ["ask"], indirect=True)
def test_a_person_may_have_the_second_copy_sent(killed: Sandbox) -> None:
    """SH-4, ER-4"""
    killed.work()
    with killed.app.session() as session:
        unknown = killed.app.dead_letters.where(code="OUTCOME_UNKNOWN")
        killed.app.dead_letters.redrive(session, unknown, by="mika", reason="the customer has none")
    killed.work()
    assert killed.mail_statuses() == ["PROCESSED"]
    assert len(killed.letters()) == 2
    assert len({letter.message_id for letter in killed.letters()}) == 1
