from collections.abc import Sequence

from sqlalchemy.orm import Session

from shop.inventory.context import inventory
from shop.inventory.reservations import Reservation, expired, release_expired
from todoke import Run, Todoke


@inventory.job(timeout="10m")
def release_reservations(run: Run, app: Todoke) -> None:
    """Free what was kept for orders that were not confirmed in time; counts what it has freed."""
    now = app.clock.now()

    def overdue(session: Session, after: int | None, size: int) -> Sequence[Reservation]:
        return expired(session, after, size, now)

    for session, found in run.chunks(overdue, cursor=lambda one: one.id):
        release_expired(session, found, now)


inventory.schedule(release_reservations, every="5m", missed="skip")
