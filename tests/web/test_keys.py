"""Idempotency keys as clients send them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from todoke.web.answer import Answered
from todoke.web.key import key_in

HEADER = "Idempotency-Key"


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("8e03978e-40d5", "8e03978e-40d5"),
        ('"8e03978e-40d5"', "8e03978e-40d5"),
        ('  "with space"  ', "with space"),
        (r'"a \"quoted\" \\ one"', r'a "quoted" \ one'),
        ('quote"', 'quote"'),
        ('""', ""),
    ],
)
def test_a_key_may_stand_bare_or_in_quotes(sent: str, key: str) -> None:
    """ID-2: the draft's structured string and what most clients send are the same key."""
    assert key_in([sent], HEADER) == key


def test_no_header_is_no_key() -> None:
    """ID-2"""
    assert key_in([], HEADER) is None


@pytest.mark.parametrize("sent", ['"open', '"a"; p=1', '"a", "b"', r'"\n"', "clé", "", "a\tb"])
def test_what_is_no_key_is_refused(sent: str) -> None:
    """ID-2: a string that does not end, parameters, lists, other characters"""
    with pytest.raises(Answered, match="printable ASCII") as refused:
        key_in([sent], HEADER)
    assert refused.value.answer.status == 400


def test_a_header_that_stands_twice_is_refused() -> None:
    """ID-2: servers disagree on which of the two counts."""
    with pytest.raises(Answered, match="sent 2 times"):
        key_in(["a", "a"], HEADER)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_every_printable_key_survives_being_quoted(key: str) -> None:
    """ID-2"""
    quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert key_in([quoted], HEADER) == key
