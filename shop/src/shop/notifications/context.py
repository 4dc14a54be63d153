from typing import Literal, cast

from shop.notifications.handlers import send_order_mail
from shop.notifications.mailer import mailer
from shop.ordering.messages import OrderConfirmed
from todoke import Context, Settings


def notifications(settings: Settings) -> Context:
    """The context, with the crash policy that the settings ask for."""
    context = Context("notifications")
    context.provide(mailer)
    on = context.on(
        OrderConfirmed,
        name="order-mail",
        retry="mail",
        timeout="20s",
        on_crash=_on_crash(settings),
    )
    on(send_order_mail)
    return context


def _on_crash(settings: Settings) -> Literal["retry", "ask"]:
    policy = settings.get("shop.mail_on_crash", "retry")
    if policy not in ("retry", "ask"):
        raise ValueError(f'shop.mail_on_crash is {policy!r}; write "retry" or "ask"')
    return cast(Literal["retry", "ask"], policy)
