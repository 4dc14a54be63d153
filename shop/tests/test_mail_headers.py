"""No text that reaches a mail can add a header to it, or a recipient, or a second body."""

from datetime import UTC, datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import SMTP, compat32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shop.notifications.mail import compose
from shop.notifications.notices import CANCELLED, CONFIRMED, SHIPPED
from shop.notifications.template import Template
from shop.text import is_address
from todoke import PermanentError

HEADERS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Auto-Submitted",
    "Content-Type",
    "Content-Transfer-Encoding",
    "MIME-Version",
    "Content-Language",
]

HOSTILE = [
    "1\r\nBcc: all@example.com",
    "1\nBcc: all@example.com",
    "1\rBcc: all@example.com",
    "1\r\n\r\nsecond body",
    "1\r\n Bcc: folded@example.com",
    "1\x00",
    "1\x0b2",
    "1\x0c2",
    "1\x1b[31m",
    "1\x7f",
    "1\x852",
    "1\u20282",
    "1\u20292",
    "1\ud800",
    "=?UTF-8?Q?=0A?=",
    "=?UTF-8?Q?1=0ABcc:_all=40example.com?=",
    "=?UTF-8?Q?1=0D=0ABcc:_all=40example.com?=",
    "=?utf-8?b?MQpCY2M6IGFsbEBleGFtcGxlLmNvbQ==?=",
    "=?iso-8859-1?q?1=0D=0A=0D=0Abody?=",
    "=?utf-8?q?1=00?=",
    "=?utf-8?q?=E2=80=A8?=",
    "2026 =?utf-8?q?a?= =?utf-8?q?=0Ab?= x",
    "=?utf-7?q?+AAo-?=",
]

ADDRESSES_REFUSED = [
    "",
    "nobody",
    "@example.com",
    "a@",
    "a@localhost",
    "a@b@example.com",
    "a b@example.com",
    "a@exa mple.com",
    "a@example.com\n",
    "a@example.com\r\nBcc: b@example.com",
    "a@example.com, b@example.com",
    "a@example.com;b@example.com",
    "Hanako <a@example.com>",
    "<a@example.com>",
    '"a b"@example.com',
    "=?utf-8?q?a=0Ab?=@example.com",
    "花子@example.com",
    "a@例え.jp",
    "a@-example.com",
    "a@example-.com",
    "a@example..com",
    "a@[127.0.0.1]",
    "a\x00@example.com",
    "a" * 65 + "@example.com",
    "a@" + "b" * 64 + ".com",
    "a@" + "b." * 130 + "com",
]


TEMPLATES = [
    *CONFIRMED.templates.values(),
    *SHIPPED.templates.values(),
    *CANCELLED.templates.values(),
]
# What makes places, encoded words and lines, more often than chance would.
PIECES = [
    "{",
    "}",
    "{total}",
    "=?utf-8?q?",
    "?=",
    "=0A",
    "\n",
    "\r",
    "\u2028",
    "Bcc: ",
    " ",
    "急須",
]
TEXTS = st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=9).map("".join)


def a_mail(
    subject: str = "ご注文確認",
    recipient: str = "hanako@example.com",
    body: str = "ご注文ありがとうございます。\n",
) -> EmailMessage:
    return compose(
        sender="shop@shop.example",
        recipient=recipient,
        subject=subject,
        body=body,
        language="ja",
        key="0192/order-mail",
        written_at=datetime(2026, 2, 18, 12, tzinfo=UTC),
    )


def header_names(mail: EmailMessage) -> list[str]:
    return list(message_from_bytes(mail.as_bytes(), policy=compat32).keys())


@pytest.mark.parametrize("text", HOSTILE)
def test_a_subject_with_control_characters_is_refused(text: str) -> None:
    """SE-4, SH-4: plain, folded or hidden in an encoded word."""
    with pytest.raises(PermanentError) as refused:
        a_mail(subject=f"ご注文確認 - {text}")
    assert refused.value.code == "UNSAFE_HEADER"


@pytest.mark.parametrize("address", ADDRESSES_REFUSED)
def test_what_is_no_address_gets_no_mail(address: str) -> None:
    """SE-4, SH-4"""
    with pytest.raises(PermanentError) as refused:
        a_mail(recipient=address)
    assert refused.value.code == "BAD_ADDRESS"
    assert not address or address not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    ["a@example.com", "first.last+tag@mail.example.co.jp", "o'hara!#$%&*/=^_`{|}~-@example.com"],
)
def test_what_is_an_address_is_written_as_it_is(address: str) -> None:
    """SH-4"""
    assert a_mail(recipient=address)["To"] == address


@given(text=st.text(max_size=120))
@example(text="=?utf-8?q?a?=")
@example(text="=?UTF-8?B?=?=")
def test_a_subject_is_refused_or_adds_nothing(text: str) -> None:
    """SE-4"""
    try:
        mail = a_mail(subject=text)
    except PermanentError:
        return
    assert header_names(mail) == HEADERS


@given(address=st.from_regex(r"[!-~]{1,30}@[!-~]{1,30}\.[!-~]{2,10}", fullmatch=True))
@example(address="=?utf-8?q?=0A?=@example.com")
@example(address=".@0.A0")
@example(address="a..b@example.com")
def test_an_address_is_refused_or_is_the_only_recipient(address: str) -> None:
    """SE-4"""
    if not is_address(address):
        return
    mail = a_mail(recipient=address)
    assert header_names(mail) == HEADERS
    assert message_from_bytes(mail.as_bytes(), policy=compat32)["To"] == address


@pytest.mark.parametrize("template", TEMPLATES)
@given(text=TEXTS, other=TEXTS)
@example(text="1\r\nBcc: all@example.com", other="")
@example(text="=?utf-8?q?=0ABcc:_all=40example.com?=", other="")
@example(text="1\n\n注文番号: 2", other="")
@example(text="{total}", other="{number}")
@example(text="{reason}{", other="}}\\g<0>%s")
def test_a_value_is_refused_or_stays_in_its_line(template: Template, text: str, other: str) -> None:
    """SE-4, SH-4: whatever it holds, the mail has the headers and the lines of its template."""
    values = {"number": text, "total": other, "reason": other}
    try:
        wording = template.fill(values)
        mail = a_mail(subject=wording.subject, body=wording.body)
    except PermanentError as refused:
        assert refused.code in {"UNSAFE_TEXT", "UNSAFE_HEADER"}
        return
    assert header_names(mail) == HEADERS
    arrived = message_from_bytes(mail.as_bytes(), policy=SMTP)
    assert isinstance(arrived, EmailMessage)
    assert not arrived.is_multipart()
    expected = [line_with(values, line) for line in template.body.splitlines()]
    assert str(arrived.get_content()).splitlines() == expected


def line_with(values: dict[str, str], line: str) -> str:
    """No line has more than one place, so a single replacement tells what it becomes."""
    (place,) = [one for one in values if f"{{{one}}}" in line] or ["number"]
    return line.replace(f"{{{place}}}", values[place])


def test_a_japanese_subject_survives_the_wire() -> None:
    """SH-4"""
    raw = message_from_bytes(a_mail("ご注文確認 - 20260218-7K3M9QAB").as_bytes(), policy=compat32)
    assert str(make_header(decode_header(raw["Subject"]))) == "ご注文確認 - 20260218-7K3M9QAB"


def test_two_copies_of_a_mail_are_the_same_byte_for_byte() -> None:
    """SH-4"""
    assert a_mail().as_bytes() == a_mail().as_bytes()
