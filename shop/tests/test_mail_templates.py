"""What customers are told, in each language: files that are checked before any mail is due."""

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from shutil import copytree
from typing import Any, get_args

import pytest

from shop.notifications import template
from shop.notifications.notices import CANCELLED, CONFIRMED, REASONS, SHIPPED, Notice
from shop.notifications.template import FOLDER, LANGUAGES, Template
from shop.ordering.messages import (
    CancelReason,
    Language,
    OrderCancelled,
    OrderConfirmed,
    OrderingEvent,
    OrderShipped,
)
from shop.text import is_one_line
from todoke import PermanentError

NUMBER = "20260218-7K3M9QAB"
GOOD = "Subject: Order {number}\n\nTotal: {total}\n"

START = """
import sys
from pathlib import Path
from shop.notifications import template

template.FOLDER = Path(sys.argv[1])
import shop.app
"""

NO_TEMPLATE = {
    "nothing": "",
    "no subject": "Total: {total}\n{number}\n",
    "an empty subject": "Subject: \n\n{number} {total}\n",
    "a subject that is not first": "\nSubject: {number}\n\n{total}\n",
    "no empty line": "Subject: {number}\nTotal: {total}\n",
    "no body": "Subject: {number} {total}\n\n",
    "a blank body": "Subject: {number} {total}\n\n\n \n",
}


def an_event(notice: Notice[Any], language: Language) -> OrderingEvent:
    known = {
        "order_id": 1,
        "order_number": NUMBER,
        "customer_email": "a@example.com",
        "language": language,
    }
    if notice is CONFIRMED:
        return OrderConfirmed(**known, total_price=Decimal(1234567))
    if notice is SHIPPED:
        return OrderShipped(**known)
    return OrderCancelled(**known, reason="TIMEOUT")


def places(found: Template) -> set[str]:
    return set(re.findall(r"{(.*?)}", found.subject + found.body))


def parsed(text: str) -> Template:
    return Template.parse("order.en.txt", text, {"number", "total"})


@pytest.mark.parametrize("notice", [CONFIRMED, SHIPPED, CANCELLED])
def test_a_mail_has_the_same_places_in_every_language(notice: Notice[Any]) -> None:
    """SH-14, SH-4"""
    japanese, english = (notice.templates[language] for language in LANGUAGES)
    assert places(japanese) == places(english)
    assert places(japanese) >= {"number"}


def test_there_is_a_file_for_every_mail_and_language_and_no_other() -> None:
    """SH-14"""
    mails = ["order-confirmed", "order-shipped", "order-cancelled"]
    expected = {f"{mail}.{language}.txt" for mail in mails for language in ("ja", "en")}
    assert {file.name for file in FOLDER.iterdir()} == expected


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("notice", [CONFIRMED, SHIPPED, CANCELLED])
def test_every_mail_can_be_written(notice: Notice[Any], language: Language) -> None:
    """SH-14, SH-4"""
    wording = notice.about(an_event(notice, language))
    assert is_one_line(wording.subject)
    assert wording.subject.endswith(f" - {NUMBER}")
    assert NUMBER in wording.body
    assert not re.search(r"[{}]", wording.subject + wording.body)


@pytest.mark.parametrize(("language", "shown"), [("ja", "合計金額: "), ("en", "Total: ")])
def test_a_total_is_shown_in_yen_in_every_language(language: Language, shown: str) -> None:
    """SH-4, SH-14"""
    wording = CONFIRMED.about(an_event(CONFIRMED, language))  # type: ignore[arg-type]
    assert f"\n{shown}¥1,234,567\n" in wording.body


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("reason", get_args(CancelReason))
def test_a_customer_is_told_why_in_words(reason: CancelReason, language: Language) -> None:
    """SH-14"""
    event = OrderCancelled(
        order_id=1, order_number=NUMBER, customer_email=None, language=language, reason=reason
    )
    wording = CANCELLED.about(event)
    assert f": {REASONS[reason][language]}\n" in wording.body
    assert reason not in wording.body


def test_every_reason_is_told_in_words_of_its_own() -> None:
    """SH-14"""
    words = [REASONS[reason][language] for reason in REASONS for language in LANGUAGES]
    assert len(set(words)) == len(get_args(CancelReason)) * len(LANGUAGES)


@pytest.mark.parametrize("text", NO_TEMPLATE.values(), ids=NO_TEMPLATE.keys())
def test_a_file_that_is_no_mail_is_refused(text: str) -> None:
    """SH-14"""
    with pytest.raises(ValueError, match=r"order\.en\.txt is no mail: write `Subject: …`"):
        parsed(text)


def test_a_place_that_nothing_fills_is_refused() -> None:
    """SH-14"""
    with pytest.raises(ValueError, match=r"the unknown \{totl\}; known: \{number\}, \{total\}"):
        parsed(GOOD + "{totl}\n")


def test_a_template_that_leaves_something_out_is_refused() -> None:
    """SH-14"""
    with pytest.raises(ValueError, match=r"lacks \{total\}"):
        parsed(GOOD.replace("{total}", "¥1"))


@pytest.mark.parametrize("slip", ["{", "}", "{Total}", "{total:,}", "{ total }", "{}", "{{total}}"])
def test_a_brace_that_belongs_to_no_place_is_refused(slip: str) -> None:
    """SH-14"""
    with pytest.raises(ValueError, match="a brace that is part of no place"):
        parsed(f"{GOOD}{slip}\n")


def test_a_template_that_is_not_there_is_refused() -> None:
    """SH-14"""
    with pytest.raises(ValueError, match=r"order-lost\.ja\.txt is not there; write one in each of"):
        template.read("order-lost", {"number"})


@pytest.mark.parametrize("broken", ["order-confirmed.ja", "order-shipped.en", "order-cancelled.ja"])
def test_with_a_slip_in_a_template_the_shop_does_not_start(broken: str, tmp_path: Path) -> None:
    """SH-14: it is noticed now, not when the first mail is due."""
    folder = copytree(str(FOLDER), tmp_path / "templates")
    with (folder / f"{broken}.txt").open("a", encoding="utf-8") as file:
        file.write("{nmber}\n")
    started = subprocess.run(
        [sys.executable, "-c", START, folder], check=False, capture_output=True, text=True
    )
    assert started.returncode == 1
    assert f"ValueError: mail template {broken}.txt has the unknown {{nmber}}" in started.stderr


@pytest.mark.parametrize(
    "value", ["{total}", "{number}", "{", "}}", "{0}", r"\1 \g<0>", "%s", "$number", "", "急須"]
)
def test_a_value_stands_in_the_mail_as_it_is(value: str) -> None:
    """SE-4, SH-14"""
    wording = parsed(GOOD).fill({"number": value, "total": "¥1"})
    assert (wording.subject, wording.body) == (f"Order {value}", "Total: ¥1\n")
    wording = parsed(GOOD).fill({"number": "1", "total": value})
    assert (wording.subject, wording.body) == ("Order 1", f"Total: {value}\n")


@pytest.mark.parametrize(
    "value",
    [
        *["1\n2", "1\r2", "1\r\n2", "1\n\nTotal: ¥0", "\n", "1\x0b2", "1\x0c2", "1\x1c2"],
        *["1\x852", "1\u20282", "1\u20292", "1\x00", "1\x1b[2K", "1\t2", "1\ud800"],
    ],
)
def test_a_value_that_is_not_one_line_is_refused_without_being_told(value: str) -> None:
    """SE-4, SE-2"""
    with pytest.raises(PermanentError, match=r"\{total\} of a mail holds a line break") as refused:
        parsed(GOOD).fill({"number": "1", "total": value})
    assert refused.value.code == "UNSAFE_TEXT"
    assert value not in str(refused.value)
