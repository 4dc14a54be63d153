from collections.abc import Callable, Coroutine
from typing import Any

from shop.notifications.context import notifications
from shop.notifications.mail import compose
from shop.notifications.mailer import Mailer
from shop.notifications.notices import CANCELLED, CONFIRMED, SHIPPED, E, Notice
from shop.ordering.messages import OrderCancelled, OrderConfirmed, OrderShipped
from todoke import Attempt, Breaker, Limit, Outcome, Skip

Handler = Callable[[E, Mailer, Attempt], Coroutine[Any, Any, Outcome | None]]

_SMTP = Breaker("smtp", failures=5, rest="30s")
"""More failures than attempts: a mail that fails alone is given up, an outage is waited out."""


def mail_on(event: type[E], *, name: str) -> Callable[[Handler[E]], Handler[E]]:
    """Handle it as all mail is handled: one mail server, and one opinion of how it is."""
    return notifications.on(
        event, name=name, retry="mail", timeout="20s", limit=Limit(8), breaker=_SMTP
    )


@mail_on(OrderConfirmed, name="order-mail")
async def send_order_mail(
    event: OrderConfirmed, mailer: Mailer, attempt: Attempt
) -> Outcome | None:
    """Tell the customer that the order is accepted."""
    return await send(CONFIRMED, event, mailer, attempt)


@mail_on(OrderShipped, name="shipped-mail")
async def send_shipped_mail(
    event: OrderShipped, mailer: Mailer, attempt: Attempt
) -> Outcome | None:
    """Tell the customer that the parcel is on its way."""
    return await send(SHIPPED, event, mailer, attempt)


@mail_on(OrderCancelled, name="cancelled-mail")
async def send_cancelled_mail(
    event: OrderCancelled, mailer: Mailer, attempt: Attempt
) -> Outcome | None:
    """Tell the customer that nothing will come, and why."""
    return await send(CANCELLED, event, mailer, attempt)


async def send(notice: Notice[E], event: E, mailer: Mailer, attempt: Attempt) -> Outcome | None:
    """Write to the customer; a guest left no address and gets no mail."""
    recipient = (event.customer_email or "").strip()
    if not recipient:
        return Skip("guest order")
    wording = notice.about(event)
    mail = compose(
        sender=mailer.sender,
        recipient=recipient,
        subject=wording.subject,
        body=wording.body,
        language=event.language,
        key=attempt.idempotency_key,
        written_at=attempt.message.created_at,
    )
    await mailer.send(mail)
    attempt.log.info("mail handed to %s", mailer.host)
    return None
