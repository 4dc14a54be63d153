"""What can be done with the files that tell of shipments. Every verb works in the caller's
transaction.

A file is allotted before it is written: its name and its shipments are fixed by then, so that
whoever writes it, however often, writes the same bytes under the same name.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.orm import Session

from shop.shipping.model import Content, FileStatus, ShipmentFile, ShipmentStatus
from shop.shipping.table import shipment_files, shipments

_WAREHOUSE = ZoneInfo("Asia/Tokyo")
_EXPORTED = shipment_files.c.status == FileStatus.EXPORTED
_UNKNOWN = shipment_files.c.status == FileStatus.UNKNOWN
_UNSEEN = _EXPORTED & shipment_files.c.uploaded_at.is_(None)


class FileNotFound(LookupError):
    def __init__(self, file_id: int) -> None:
        self.file_id = file_id
        super().__init__(f"there is no shipment file {file_id}")


class Overtaken(Exception):
    """Somebody else has brought this file further: our attempt at it was given up meanwhile."""

    def __init__(self, file_id: int) -> None:
        self.file_id = file_id
        super().__init__(f"shipment file {file_id} was sent on by another attempt")


class OutcomeIsKnown(Exception):
    """A person need not decide about this file."""

    def __init__(self, file: ShipmentFile) -> None:
        self.file = file
        super().__init__(f"shipment file {file.id} is {file.status}")


def ready_shipments(session: Session, after: int | None, size: int) -> Sequence[int]:
    """Numbers of shipments that are in no file yet."""
    query = (
        select(shipments.c.id)
        .where(shipments.c.status == ShipmentStatus.READY, shipments.c.file_id.is_(None))
        .where(shipments.c.id > (after or 0))
        .order_by(shipments.c.id)
        .limit(size)
        .with_for_update()
    )
    return session.scalars(query).all()


def allot_file(session: Session, ids: Sequence[int], encoding: str, at: datetime) -> None:
    """A file for these shipments, under a name that nobody has had."""
    row = {"status": FileStatus.ALLOTTED, "shipments": len(ids), "encoding": encoding}
    # Its number is a part of its name, and drawn by the database.
    made = session.execute(insert(shipment_files).values(name=uuid4().hex, created_at=at, **row))
    number = made.inserted_primary_key[0]  # type: ignore[attr-defined]
    name = f"shipments-{at.astimezone(_WAREHOUSE):%Y%m%d}-{number:06d}.csv"
    _change(session, number, name=name)
    session.execute(update(shipments).where(shipments.c.id.in_(ids)).values(file_id=number))


def allotted_files(session: Session, after: int | None, size: int) -> Sequence[ShipmentFile]:
    """Those that are to be written, behind this number; also what an earlier run has left."""
    allotted = shipment_files.c.status == FileStatus.ALLOTTED
    behind = allotted & (shipment_files.c.id > (after or 0))
    return _read(session, behind, size, lock=True)


def mark_exported(session: Session, file: ShipmentFile, content: Content, at: datetime) -> None:
    _change(session, file.id, status=FileStatus.EXPORTED, exported_at=at, **content._asdict())
    _change_shipments(session, file.id, ShipmentStatus.EXPORTED)


def mark_rewritten(session: Session, file: ShipmentFile, content: Content) -> None:
    """It was made again before anybody has seen it."""
    _send_on(session, file.id, _UNSEEN, **content._asdict())


def exported_files(session: Session) -> Sequence[ShipmentFile]:
    """Those that are to be sent, oldest first."""
    return _read(session, _EXPORTED)


def mark_uploaded(session: Session, file: ShipmentFile, at: datetime) -> None:
    """It is complete at the receiver's, under a name that he does not take.

    Said once of each sending: an attempt that slept while another sent the file and the receiver
    took it would upload it anew, and is stopped here before it could be seen.
    """
    _send_on(session, file.id, _UNSEEN, uploaded_at=at)


def mark_transferred(session: Session, file: ShipmentFile, at: datetime) -> None:
    _arrive(session, file.id, _EXPORTED, at)


def mark_unknown(session: Session, file: ShipmentFile) -> None:
    _send_on(session, file.id, _EXPORTED, status=FileStatus.UNKNOWN)


def decide_transferred(session: Session, file_id: int, at: datetime) -> ShipmentFile:
    """A person has found out that the receiver has it."""
    _take_unknown(session, file_id)
    _arrive(session, file_id, _UNKNOWN, at)
    return find_file(session, file_id)


def decide_send_again(session: Session, file_id: int) -> ShipmentFile:
    """A person has found out that the receiver does not have it."""
    _take_unknown(session, file_id)
    _send_on(session, file_id, _UNKNOWN, status=FileStatus.EXPORTED, uploaded_at=None)
    return find_file(session, file_id)


def find_file(session: Session, file_id: int, *, lock: bool = False) -> ShipmentFile:
    found = _read(session, shipment_files.c.id == file_id, lock=lock)
    if not found:
        raise FileNotFound(file_id)
    return found[0]


def latest_files(session: Session, limit: int, before: int | None = None) -> Sequence[ShipmentFile]:
    query = select(shipment_files).order_by(shipment_files.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(shipment_files.c.id < before)
    return [ShipmentFile(*row) for row in session.execute(query)]


def _take_unknown(session: Session, file_id: int) -> None:
    file = find_file(session, file_id, lock=True)
    if file.status != FileStatus.UNKNOWN:
        raise OutcomeIsKnown(file)


def _read(
    session: Session, which: ColumnElement[bool], limit: int | None = None, *, lock: bool = False
) -> Sequence[ShipmentFile]:
    query = select(shipment_files).where(which).order_by(shipment_files.c.id).limit(limit)
    rows = session.execute(query.with_for_update() if lock else query)
    return [ShipmentFile(*row) for row in rows]


def _arrive(session: Session, file_id: int, now: ColumnElement[bool], at: datetime) -> None:
    _send_on(session, file_id, now, status=FileStatus.TRANSFERRED, transferred_at=at)
    _change_shipments(session, file_id, ShipmentStatus.TRANSFERRED)


def _send_on(session: Session, file_id: int, now: ColumnElement[bool], **values: Any) -> None:
    """Write it down of a file that is so now; Overtaken where it is not."""
    if not _change(session, file_id, now, **values):
        raise Overtaken(file_id)


def _change(session: Session, file_id: int, *which: ColumnElement[bool], **values: Any) -> bool:
    this = update(shipment_files).where(shipment_files.c.id == file_id, *which)
    return bool(session.execute(this.values(**values)).rowcount)  # type: ignore[attr-defined]


def _change_shipments(session: Session, file_id: int, status: ShipmentStatus) -> None:
    session.execute(update(shipments).where(shipments.c.file_id == file_id).values(status=status))
