"""The catcher's pages. Every value passes `escape`; nothing a mail says becomes markup."""

from collections.abc import Iterable
from datetime import datetime
from html import escape

from shop.html_page import frame, other_language
from shop.mailbox.mailbox import CaughtMail
from shop.mailbox.reading import read
from shop.mailbox.words import Words


def list_page(mails: list[CaughtMail], words: Words) -> str:
    count = escape(words.count.format(count=len(mails)))
    rows = "".join(_row(mail, words) for mail in mails)
    content = f'<ol class="mails">{rows}</ol>' if mails else _paragraph(words.nothing)
    heading = f"<h1>{escape(words.title)}</h1><span class=count>{count}</span>"
    return _page(words, path="/", title=words.title, heading=heading, content=content, refresh=True)


def mail_page(mail: CaughtMail, words: Words) -> str:
    letter = read(mail)
    facts = [
        (words.sender, letter.sender or mail.sender),
        (words.recipient, letter.recipient or ", ".join(mail.recipients)),
        (words.received, _moment(mail.received_at)),
        (words.message_id, letter.message_id),
    ]
    if letter.attachments:
        facts.append((words.attachments, ", ".join(letter.attachments)))
    back = f'<a class=back href="/?lang={words.language}">← {escape(words.back)}</a>'
    return _page(
        words,
        path=f"/mail/{mail.id}",
        title=letter.subject,
        heading=f"{back}<h1>{escape(letter.subject)}</h1>",
        content=f"{_facts(facts)}<pre>{escape(letter.text)}</pre>",
    )


def _row(mail: CaughtMail, words: Words) -> str:
    letter = read(mail)
    return (
        f'<li><a href="/mail/{mail.id}?lang={words.language}">'
        f"<strong>{escape(letter.subject)}</strong>"
        f"<span>{escape(letter.recipient or ', '.join(mail.recipients))}</span>"
        f"<time>{escape(_moment(mail.received_at))}</time></a></li>"
    )


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    return f"<dl>{rows}</dl>"


def _paragraph(text: str) -> str:
    return f"<p class=nothing>{escape(text)}</p>"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _page(
    words: Words, *, path: str, title: str, heading: str, content: str, refresh: bool = False
) -> str:
    there = other_language(words, f"{path}?lang={words.other_language}")
    header = f"<div>{heading}</div>{there}"
    return frame(title, header, content, language=words.language, css="/style.css", refresh=refresh)
