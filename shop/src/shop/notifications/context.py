from shop.notifications.handlers import send_order_mail
from shop.notifications.mailer import mailer
from shop.ordering.messages import OrderConfirmed
from todoke import Context, Settings
from todoke.types import OnCrash


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


def _on_crash(settings: Settings) -> OnCrash:
    match settings.get("shop.mail_on_crash", "retry"):
        case "retry":
            return "retry"
        case "ask":
            return "ask"
        case other:
            raise ValueError(f'shop.mail_on_crash is {other!r}; write "retry" or "ask"')
