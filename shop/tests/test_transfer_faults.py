"""The night's jobs when lines, disks and servers fail them: what a person sees, and how it ends."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session
from tests.dying import drain_through
from tests.servers.sftp_server import SftpServer
from tests.servers.small_disk import small_disk

from shop.mailbox.server import MailServer
from shop.shipping import files
from shop.shipping.files import Overtaken
from shop.testing import Sandbox, sandbox
from todoke.testing import Clock


class Dispatch:
    """A shop on any database that sends its files by SFTP, and may be told something else."""

    def __init__(self, url: str, mail: MailServer, clock: Clock) -> None:
        self._url, self._mail, self._clock = url, mail, clock

    @contextmanager
    def told(self, settings: Mapping[str, object]) -> Iterator[Sandbox]:
        with sandbox(self._url, self._mail, self._clock, told=settings) as shop:
            yield shop

    @contextmanager
    def to(self, server: SftpServer, **changes: object) -> Iterator[Sandbox]:
        values = server.values(**changes)
        with self.told({f"jobs.sftp.{name}": value for name, value in values.items()}) as shop:
            yield shop


@pytest.fixture
def dispatch(migrated_url: str, mail_server: MailServer, clock: Clock) -> Dispatch:
    return Dispatch(migrated_url, mail_server, clock)


def night(shop: Sandbox) -> int:
    """One order goes its way through the night's jobs, as far as it gets."""
    order_id = shop.place_and_confirm()
    shop.work()
    shop.run("create-shipment")
    return order_id


def status_of(shop: Sandbox, order_id: int) -> str:
    (shipment,) = shop.shipments(order_id)
    return str(shipment["status"])


def attempts(shop: Sandbox, job: str) -> list[tuple[str, str | None]]:
    return [(run.status, run.error_code) for run in shop.runs(job)]


def test_a_line_that_is_cut_in_the_middle_of_a_file_costs_an_attempt_and_no_byte_twice(
    dispatch: Dispatch, sftp: SftpServer
) -> None:
    """SH-9, F23"""
    with dispatch.to(sftp) as shop:
        sftp.cut_after(100)
        order_id = night(shop)
        assert attempts(shop, "sftp-put") == [("FAILED", "SFTP_CUT_OFF")]
        assert (status_of(shop, order_id), sftp.revealed) == ("EXPORTED", [])
        shop.work("15s")
        assert attempts(shop, "sftp-put")[1:] == [("SUCCEEDED", None)]
        assert status_of(shop, order_id) == "TRANSFERRED"
        (file,) = shop.files()
    assert sftp.revealed == [file["name"]]
    assert sftp.uploaded == file["size"] > 100


def test_a_changed_host_key_is_a_dead_letter_at_once_that_names_both_keys(
    dispatch: Dispatch, sftp: SftpServer, caplog: pytest.LogCaptureFixture
) -> None:
    """SH-9, F23, S15: no second attempt, an alert in the log, nothing sent; then a person acts."""
    pinned = sftp.values()["host_key"]
    sftp.change_host_key()
    with dispatch.to(sftp, host_key=pinned) as shop, caplog.at_level(logging.WARNING):
        order_id = night(shop)
        (letter,) = shop.dead_letters()
        assert (letter.name, letter.code) == ("sftp-put", "SFTP_HOST_KEY_CHANGED")
        assert "nothing was sent" in letter.message
        assert letter.message.count("SHA256:") == 2
        assert attempts(shop, "sftp-put") == [("FAILED", "SFTP_HOST_KEY_CHANGED")]
        assert status_of(shop, order_id) == "EXPORTED"
    assert any(
        record.levelno >= logging.ERROR and "SFTP_HOST_KEY_CHANGED" in record.getMessage()
        for record in caplog.records
    )
    assert (sftp.users, sftp.uploaded) == ([], 0)
    with dispatch.to(sftp) as shop:
        redrive(shop, "SFTP_HOST_KEY_CHANGED")
        assert status_of(shop, order_id) == "TRANSFERRED"
    assert len(sftp.revealed) == 1


def redrive(shop: Sandbox, code: str) -> None:
    with shop.app.session() as session:
        found = shop.app.dead_letters.where(code=code)
        shop.app.dead_letters.redrive(session, found, by="mika", reason="it was mended")
    shop.work()


def test_a_full_disk_shows_no_part_of_a_file_and_is_waited_for(
    dispatch: Dispatch, tmp_path: Path
) -> None:
    """SH-8, F11: a real file system without room, while the file is written."""
    with small_disk(tmp_path / "disk") as disk:
        disk.fill(leaving=4096)
        told = {"jobs.export.folder": str(disk.folder)}
        with dispatch.told(told) as shop:
            orders = [shop.place_and_confirm() for _ in range(40)]
            shop.work()
            shop.run("create-shipment")
            assert [status for status, _ in attempts(shop, "export-shipment-file")] == ["FAILED"]
            assert [file.name for file in disk.folder.iterdir()] == [".ballast"]
            assert {status_of(shop, order) for order in orders} == {"READY"}
            disk.empty()
            shop.work("1m", "1m")
            assert {status_of(shop, order) for order in orders} == {"TRANSFERRED"}
            (file,) = shop.files()
            assert [one.name for one in disk.folder.iterdir()] == [file["name"]]
            assert file["size"] > 4096
            assert (shop.sent / file["name"]).stat().st_size == file["size"]


def test_a_full_disk_at_the_receivers_is_waited_for(dispatch: Dispatch, sftp: SftpServer) -> None:
    """SH-9, F23"""
    with dispatch.to(sftp) as shop:
        sftp.quota = 100
        order_id = night(shop)
        assert attempts(shop, "sftp-put") == [("FAILED", "SFTP_FAILED")]
        sftp.quota = None
        shop.work("15s")
        assert status_of(shop, order_id) == "TRANSFERRED"
    assert len(sftp.revealed) == 1


def test_a_file_that_the_exporting_host_took_with_it_is_made_again(shop: Sandbox) -> None:
    """SH-9: the worker that sends it is on another machine."""
    shop.sent.write_text("a file where the folder should be")
    night(shop)
    (exported,) = shop.exported.iterdir()
    content = exported.read_bytes()
    exported.unlink()
    shop.sent.unlink()
    shop.work("15s")
    assert (shop.sent / exported.name).read_bytes() == content


def test_a_receiver_who_was_quicker_than_our_note_is_asked_by_a_person(
    dispatch: Dispatch, sftp: SftpServer
) -> None:
    """SH-9: neither sent again nor taken for sent; another file is not held up by it."""

    def take() -> None:
        (sftp.folder / sftp.revealed[0]).unlink()

    with dispatch.to(sftp) as shop:
        order_id = shop.place_and_confirm()
        shop.work()
        with shop.app.session() as session:
            shop.app.jobs.run(session, "create-shipment", by="test", reason="night has come")
        drain_through(shop.app, "transfer.after_reveal", between=take)
        (letter,) = shop.dead_letters()
        assert letter.code == "TRANSFER_OUTCOME_UNKNOWN"
        (file,) = shop.files()
        assert file["name"] in letter.message
        assert (file["status"], status_of(shop, order_id)) == ("UNKNOWN", "EXPORTED")
        other = night(shop)
        assert status_of(shop, other) == "TRANSFERRED"
        decide(shop, file, "send-again")
        assert status_of(shop, order_id) == "TRANSFERRED"
    assert sftp.revealed.count(file["name"]) == 2, "a person wanted that"


def decide(shop: Sandbox, file: dict[str, Any], what: str) -> None:
    shop.web.post(f"/api/shipment-file/{file['id']}/{what}").raise_for_status()
    shop.work()


def test_an_attempt_that_slept_while_another_sent_the_file_is_stopped(shop: Sandbox) -> None:
    """SH-9: before what it uploaded anew could be seen, and before it could write anything down."""
    night(shop)
    with shop.app.session() as session:
        file = files.find_file(session, 1)
        now = shop.clock.now()
        with pytest.raises(Overtaken, match="shipment file 1"):
            files.mark_uploaded(session, file, now)
        with pytest.raises(Overtaken):
            files.mark_transferred(session, file, now)
        with pytest.raises(Overtaken):
            files.mark_unknown(session, file)
    assert [one["status"] for one in shop.files()] == ["TRANSFERRED"]


def test_a_worker_that_wakes_up_late_sends_nothing_again(
    dispatch: Dispatch, sftp: SftpServer
) -> None:
    """SH-9: it sleeps before its upload, beyond its lease, and another has sent the file."""
    with dispatch.to(sftp) as shop:
        woken: list[str] = []

        def sleep(operation: str, name: str) -> None:
            """While the first write is on its way, another worker sends, and the file is taken."""
            if operation != "write" or woken:
                return
            woken.append(name)
            with shop.app.session() as session:
                _as_another_worker(session, shop)

        sftp.hook = sleep
        order_id = night(shop)
        assert woken
        assert status_of(shop, order_id) == "TRANSFERRED"
        assert sftp.revealed == []


def _as_another_worker(session: Session, shop: Sandbox) -> None:
    (file,) = files.exported_files(session)
    files.mark_uploaded(session, file, shop.clock.now())
    files.mark_transferred(session, file, shop.clock.now())
