import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy.orm import Session

from shop.shipping import files
from shop.shipping.context import shipping
from shop.shipping.export_settings import ExportSettings
from shop.shipping.model import ShipmentFile
from shop.shipping.shipment_csv import lines_of, pieces
from shop.shipping.transfer.choose import strategy_for
from shop.shipping.transfer.strategy import Place, TransferStrategy
from shop.shipping.whole_file import digest, write_whole
from todoke import Backoff, Limit, PermanentError, Run, Settings, Todoke, crash

T = TypeVar("T")

crash.declare(
    "transfer.before_upload",
    "transfer.after_upload",
    "transfer.before_reveal",
    "transfer.after_reveal",
    "transfer.after_mark",
)


@shipping.provide
def transfer_strategy(settings: Settings) -> TransferStrategy:
    return strategy_for(settings)


@shipping.job(retry=Backoff("10s", "20s", "40s"), timeout="30m", limit=Limit(1))
async def sftp_put(
    run: Run, app: Todoke, export: ExportSettings, strategy: TransferStrategy
) -> None:
    """Send the files that were written; what was sent is not sent again."""
    waiting = await _in_session(app, files.exported_files)
    if not waiting:
        return
    putting = _Putting(run, app, export.folder)
    async with strategy.open() as place:
        for file in run.track(waiting):
            await putting.put(file, place)
    run.metric("files", len(waiting) - len(putting.unknown))
    if putting.unknown:
        raise PermanentError(
            f"{strategy.where}: nobody can tell whether {', '.join(putting.unknown)} arrived: the"
            " worker died while it was giving the file its name, and it is not there any more."
            " Ask the receiver, then POST /api/shipment-file/ID/mark-transferred or /send-again.",
            code="TRANSFER_OUTCOME_UNKNOWN",
        )


class _Putting:
    """Upload, note it, reveal, note it: whoever dies in between leaves a trace of how far."""

    def __init__(self, run: Run, app: Todoke, folder: Path) -> None:
        self._run, self._app, self._folder = run, app, folder
        self.unknown: list[str] = []

    async def put(self, file: ShipmentFile, place: Place) -> None:
        if file.uploaded_at is None:
            await self._upload(file, place)
        self._run.check()
        crash.point("transfer.before_reveal")
        is_there = await place.reveal(file.name)
        crash.point("transfer.after_reveal")
        if is_there:
            await self._note(lambda session: self._transferred(session, file))
        else:
            # Its draft was complete, or nothing would have been noted; so it was revealed and
            # taken, or somebody has tidied up. Neither sending again nor forgetting is safe.
            self.unknown.append(file.name)
            await self._note(lambda session: files.mark_unknown(session, file))
        crash.point("transfer.after_mark")

    async def _upload(self, file: ShipmentFile, place: Place) -> None:
        path = await self._written(file)
        crash.point("transfer.before_upload")
        await place.upload(path)
        crash.point("transfer.after_upload")
        now = self._app.clock.now()
        await self._note(lambda session: files.mark_uploaded(session, file, now))

    async def _written(self, file: ShipmentFile) -> Path:
        """The file as it was written; another host may have done that, so it is made again here."""
        path = self._folder / file.name

        def ensure(session: Session) -> None:
            if digest(path) != file.sha256:
                written = write_whole(path, pieces(lines_of(session, file.id), file.encoding))
                files.mark_rewritten(session, file, written)

        await self._note(ensure)
        return path

    def _transferred(self, session: Session, file: ShipmentFile) -> None:
        files.mark_transferred(session, file, self._app.clock.now())

    async def _note(self, work: Callable[[Session], object]) -> None:
        await _in_session(self._app, work)


async def _in_session(app: Todoke, work: Callable[[Session], T]) -> T:
    """A short transaction, off the event loop."""

    def run() -> T:
        with app.session() as session:
            return work(session)

    return await asyncio.to_thread(run)
