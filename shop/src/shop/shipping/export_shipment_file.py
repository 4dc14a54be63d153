from shop.shipping.context import shipping
from shop.shipping.export_settings import ExportSettings
from shop.shipping.files import allot_file, allotted_files, mark_exported, ready_shipments
from shop.shipping.sftp_put import sftp_put
from shop.shipping.shipment_csv import lines_of, pieces
from shop.shipping.whole_file import write_whole
from todoke import Limit, Run, Todoke


@shipping.job(timeout="1h", limit=Limit(1))
def export_shipment_file(run: Run, app: Todoke, export: ExportSettings) -> None:
    """Tell of shipments that are ready, in files of a bounded size; orders are not touched.

    Whoever dies between a file's name and the commit that knows of it writes it again: the same
    bytes under the same name.
    """
    size = export.shipments_per_file
    for session, ids in run.chunks(ready_shipments, cursor=int, size=size, name="allot"):
        allot_file(session, ids, export.encoding, app.clock.now())
    shipments = 0
    for session, (file,) in run.chunks(
        allotted_files, cursor=lambda file: file.id, size=1, name="write"
    ):
        path = export.folder / file.name
        written = write_whole(path, pieces(lines_of(session, file.id), file.encoding))
        mark_exported(session, file, written, app.clock.now())
        shipments += file.shipments
    run.metric("shipments", shipments)
    run.then(sftp_put.bind())
