from shop.notifications.context import notifications
from shop.notifications.mail import compose
from shop.notifications.mailer import Mailer
from shop.ordering.messages import OrderConfirmed
from todoke import Attempt, Breaker, Limit, Outcome, Skip

_BODY = """\
ご注文ありがとうございます。

注文番号: {number}
合計金額: ¥{total:,.0f}

商品の発送まで、今しばらくお待ちくださいますようお願い申し上げます。
"""

_SMTP = Breaker("smtp", failures=5, rest="30s")
"""More failures than attempts: a mail that fails alone is given up, an outage is waited out."""


@notifications.on(
    OrderConfirmed,
    name="order-mail",
    retry="mail",
    timeout="20s",
    limit=Limit(8),
    breaker=_SMTP,
)
async def send_order_mail(
    event: OrderConfirmed, mailer: Mailer, attempt: Attempt
) -> Outcome | None:
    """Tell the customer that the order is accepted; a guest left no address and gets no mail."""
    recipient = (event.customer_email or "").strip()
    if not recipient:
        return Skip("guest order")
    mail = compose(
        sender=mailer.sender,
        recipient=recipient,
        subject=f"ご注文確認 - {event.order_number}",
        body=_BODY.format(number=event.order_number, total=event.total_price),
        key=attempt.idempotency_key,
        written_at=attempt.message.created_at,
    )
    await mailer.send(mail)
    attempt.log.info("order mail handed to %s", mailer.host)
    return None
