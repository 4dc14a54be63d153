"""Parcels: made at night for confirmed orders, told to the warehouse in a file.

    create-shipment ─▶ export-shipment-file ─▶ sftp-put
    READY              EXPORTED                TRANSFERRED

Each job enqueues the next with its own result, works in pieces, and may be run again at any time:
what is done stays done. What it must know of orders and stock it asks for through `ports`.
"""
