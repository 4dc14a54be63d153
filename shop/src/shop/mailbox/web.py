"""The catcher's page and its JSON."""

from fastapi import FastAPI, HTTPException, Request, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware

from shop import html_page
from shop.mailbox.mailbox import CaughtMail, Mailbox
from shop.mailbox.page import list_page, mail_page
from shop.mailbox.reading import read
from shop.mailbox.words import Words, words_for


def create_mailbox_web(mailbox: Mailbox, hosts: tuple[str, ...] = ()) -> FastAPI:
    """Pages over this mailbox; asked under another host name than its own, it does not answer."""
    web = FastAPI(title="mail", docs_url=None, redoc_url=None, openapi_url=None)
    # A site on the internet may name its own host to this address and read the mails by that.
    web.add_middleware(
        TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]", *hosts]
    )

    @web.get("/")
    def show_list(request: Request, lang: str | None = None) -> Response:
        return html_page.html(list_page(mailbox.newest_first(), _words(request, lang)))

    @web.get("/mail/{mail_id}")
    def show_mail(request: Request, mail_id: int, lang: str | None = None) -> Response:
        return html_page.html(mail_page(_found(mailbox, mail_id), _words(request, lang)))

    @web.get("/style.css")
    def style() -> Response:
        return html_page.style("shop.mailbox")

    @web.get("/api/mail")
    def list_mails() -> list[dict[str, object]]:
        return [_json(mail) for mail in mailbox.newest_first()]

    @web.delete("/api/mail", status_code=204)
    def clear() -> None:
        mailbox.clear()

    return web


def _found(mailbox: Mailbox, mail_id: int) -> CaughtMail:
    mail = mailbox.get(mail_id)
    if mail is None:
        raise HTTPException(404, "no such mail")
    return mail


def _json(mail: CaughtMail) -> dict[str, object]:
    letter = read(mail)
    return {
        "id": mail.id,
        "messageId": letter.message_id,
        "from": mail.sender,
        "to": mail.recipients,
        "subject": letter.subject,
        "text": letter.text,
        "size": len(mail.raw),
        "receivedAt": mail.received_at.isoformat(),
    }


def _words(request: Request, asked: str | None) -> Words:
    return words_for(asked, request.headers.get("accept-language", ""))
