"""Bodies as exact canonical text; JSON is read strictly."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from todoke import codec
from todoke.codec import NotStrict

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_what_is_written_is_read_back(data: Any) -> None:
    """OB-2"""
    assert codec.load(codec.dump(data)) == data


@given(JSON)
def test_the_text_is_canonical(data: Any) -> None:
    """OB-2"""
    text = codec.dump(data)
    assert codec.dump(codec.load(text)) == text


@given(JSON)
def test_the_text_is_that_of_the_standard_library(data: Any) -> None:
    """OB-2: the encoder is called past its front door"""
    plain = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert codec.dump(data) == plain


@given(st.text())
def test_any_text_at_all_is_read_or_refused(text: str) -> None:
    """SE-4"""
    with suppress(NotStrict):
        codec.dump(codec.load(text))


def test_keys_are_sorted_and_nothing_is_padded() -> None:
    """OB-2"""
    assert codec.dump({"b": [1, 2], "a": "届け"}) == '{"a":"届け","b":[1,2]}'


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"x":{"a":1,"a":2}}',
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        "[-1e999]",
        '"\\ud800"',
        '{"\\udfff":1}',
        '"\ud800"',
        "[" * 33 + "]" * 33,
        "[" * 100_000,
        '{"a":' * 40 + "1" + "}" * 40,
        "{'a':1}",
        "[1,]",
        "",
        "1 2",
        "1" * 5000,
    ],
    ids=lambda text: repr(text)[:20],
)
def test_what_is_no_strict_json_is_refused(text: str) -> None:
    """SE-4"""
    with pytest.raises(NotStrict):
        codec.load(text)


def test_a_key_that_stands_twice_is_named() -> None:
    """SE-4"""
    with pytest.raises(NotStrict, match="key 'total' stands twice"):
        codec.load('{"total":1,"total":2}')


def test_thirty_two_levels_are_read() -> None:
    """SE-4"""
    text = "[" * 32 + "]" * 32
    assert codec.dump(codec.load(text)) == text


def test_brackets_inside_text_are_no_levels() -> None:
    """SE-4"""
    data = {"note": '[{"' * 100 + "\\"}
    assert codec.load(codec.dump(data)) == data


def test_a_text_of_the_limit_is_read_and_one_byte_more_is_not() -> None:
    """OB-2"""
    text = json.dumps("あ" * 10, ensure_ascii=False)
    assert codec.load(text, max_bytes=32)
    with pytest.raises(NotStrict, match="32 bytes, the limit is 31"):
        codec.load(text, max_bytes=31)


@pytest.mark.parametrize(
    "data",
    [float("nan"), float("inf"), {"a": float("-inf")}, object(), {1, 2}, b"x", "\ud800"],
    ids=["NaN", "infinity", "inner infinity", "object", "set", "bytes", "half a character"],
)
def test_what_json_cannot_carry_is_not_written(data: Any) -> None:
    """OB-2"""
    with pytest.raises(NotStrict):
        codec.dump(data)


def test_endless_data_is_not_written() -> None:
    """OB-2"""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(NotStrict):
        codec.dump(endless)


def test_an_object_is_asked_for() -> None:
    """OB-2"""
    with pytest.raises(NotStrict, match="expected an object"):
        codec.load_object("[]")


def test_what_contains_itself_is_refused() -> None:
    """OB-2"""
    data: dict[str, object] = {}
    data["again"] = data
    with pytest.raises(NotStrict, match="nested deeper"):
        codec.dump(data)
