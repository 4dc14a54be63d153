"""The file that the warehouse reads: what stands in it, and that nothing in it runs."""

import csv
import io
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shop.shipping.shipment_csv import COLUMNS, SHIFT_JIS, UTF_8, Line, pieces, safe

BOM = b"\xef\xbb\xbf"
LINE = Line(
    shipment_id=1,
    shipment_type="OUTBOUND",
    order_number="20260218-7K3M9QAB",
    sku="KYUSU-01",
    name="急須",
    quantity=2,
    recipient_name="山田花子",
    postal_code="100-0001",
    address="東京都千代田区千代田1-1",
    phone="03-1234-5678",
)


def written(*lines: Line, encoding: str = UTF_8) -> bytes:
    return b"".join(pieces(lines, encoding))


def named(name: str) -> Line:
    return LINE._replace(recipient_name=name)


def read(content: bytes, encoding: str = UTF_8) -> list[list[str]]:
    """The lines behind the head, as another program reads them."""
    codec = {UTF_8: "utf-8-sig", SHIFT_JIS: "cp932"}[encoding]
    text = io.StringIO(content.decode(codec), newline="")
    head, *lines = csv.reader(text, strict=True)
    assert head == list(COLUMNS)
    return lines


def name_in(content: bytes, encoding: str = UTF_8) -> str:
    (line,) = read(content, encoding)
    return line[COLUMNS.index("recipient_name")]


def in_shift_jis(name: str) -> str:
    return name_in(written(named(name), encoding=SHIFT_JIS), SHIFT_JIS)


def runs(cell: str) -> bool:
    """Whether a spreadsheet might, that trims all it can and takes every form of a sign for it."""
    folded = unicodedata.normalize("NFKC", cell).replace("−", "-")
    seen = folded.lstrip('"\u200b\u200c\u200d\u2060\ufeff\u00ad \u3000\u00a0\x00\x7f')
    return cell[:1] in ("\t", "\r", "\n", "\0") or seen[:1] in tuple("=+-@|%")


def as_it_was(cell: str) -> str:
    """What a reader does who wants the text itself: our apostrophe is taken away."""
    return cell[1:] if cell.startswith("'") and safe(cell[1:]) == cell else cell


# --- what it looks like ----------------------------------------------------------------------


def test_a_file_is_a_head_and_a_line_for_each_item() -> None:
    """SH-8: RFC 4180, with the line breaks that it asks for."""
    assert written(LINE).decode("utf-8-sig") == (
        "shipment_id,shipment_type,order_number,sku,name,quantity,recipient_name,postal_code,"
        "address,phone\r\n"
        "1,OUTBOUND,20260218-7K3M9QAB,KYUSU-01,急須,2,山田花子,100-0001,東京都千代田区千代田1-1,"
        "03-1234-5678\r\n"
    )


def test_a_file_without_shipments_is_its_head() -> None:
    """SH-8"""
    assert read(written()) == []


@pytest.mark.parametrize("lines", [0, 1, 3])
def test_utf_8_begins_with_one_byte_order_mark(lines: int) -> None:
    """SH-8: or spreadsheets take it for Shift_JIS."""
    content = written(*[LINE] * lines)
    assert content.startswith(BOM)
    assert content.count(BOM) == 1


def test_shift_jis_has_no_byte_order_mark() -> None:
    """SH-8"""
    assert written(LINE, encoding=SHIFT_JIS).startswith(b"shipment_id,")


@pytest.mark.parametrize(
    "name", ["山田, 花子", '山田 "花" 子', "山田\r\n花子", "山田\n花子", "a\rb", ",", '"']
)
@pytest.mark.parametrize("encoding", [UTF_8, SHIFT_JIS])
def test_commas_quotes_and_line_breaks_stay_in_their_cell(name: str, encoding: str) -> None:
    """SH-8, SE-4"""
    content = written(named(name), LINE, encoding=encoding)
    first, second = read(content, encoding)
    assert first[COLUMNS.index("recipient_name")] == name
    assert len(first) == len(second) == len(COLUMNS)


def test_a_cell_cannot_become_two() -> None:
    """SE-4: no comma or quote of a customer's ends it and begins a formula behind it."""
    content = written(named('a",=1+1,"'))
    assert b'"a"",=1+1,"""' in content
    assert name_in(content) == 'a",=1+1,"'


# --- formulas --------------------------------------------------------------------------------

FORMULAS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "=cmd|'/C calc'!A0",
    "-2+3+cmd|'/C calc'!A0",
    '=HYPERLINK("https://example.com","急須")',
    "|cmd",
    "%0A=1",
    "\t=1",
    "\r=1",
    "\n=1",
    "\0=1",
    "\tname",
    "＝1+1",
    "＋1",
    "－1",
    "＠SUM(1)",
    "﹦1",
    "﹢1",
    "﹣1",
    "﹫SUM(1)",
    "⁼1",
    "−1",
    " =1",
    "\u3000=1",
    "\u00a0＝1",
    "\u200b=1",
    "\u200d\ufe0f=1",
    "\ufeff=1",
    "\u202e=1",
    "\u0301=1",
    '"=1',
    "'=1",
    "''=1",
    "' =1",
]


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("encoding", [UTF_8, SHIFT_JIS])
def test_no_cell_begins_a_formula(name: str, encoding: str) -> None:
    """SE-4: also behind blanks, quotes and what is not shown, and in other widths."""
    cell = name_in(written(named(name), encoding=encoding), encoding)
    assert cell.startswith("'")
    assert not runs(cell)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_text_of_a_formula_is_all_there(name: str) -> None:
    """SE-4: behind one apostrophe, also where it begins with some itself."""
    assert name_in(written(named(name))) == f"'{name}"


@pytest.mark.parametrize(
    "column", [name for name in COLUMNS if isinstance(getattr(LINE, name), str)]
)
def test_each_column_of_text_is_safe(column: str) -> None:
    """SE-4: also those that nobody can write into today."""
    (line,) = read(written(Line(**{**LINE._asdict(), column: "=1"})))
    assert line[COLUMNS.index(column)] == "'=1"


@pytest.mark.parametrize(
    "text",
    [
        "03-1234-5678",
        "0312345678",
        "100-0001",
        "KYUSU-01",
        "20260218-7K3M9QAB",
        "東京都千代田区千代田1-1 ＝ビル＝",
        "1=1",
        "a@example.com",
        "〜秋〜",
        "～秋～",
        "ー",
        "―",
        "'s-Hertogenbosch",
        "“急須”",
        "(株)山田",
        "",
        " ",
        "'",
        '"',
    ],
)
def test_what_is_no_formula_is_written_as_it_is(text: str) -> None:
    """SH-8: telephone numbers and product numbers can be read."""
    assert name_in(written(named(text))) == text


# --- Shift_JIS -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("〜", "～"),  # wave dash
        ("−５", "'－５"),  # minus sign; full-width it could begin a formula
        ("‖", "∥"),
        ("a—b", "a―b"),
        ("¢£¬¥¦‾", "￠￡￢￥￤￣"),
        ("1\u20112\u20123\u20134", "1‐2‐3‐4"),
        ("a\u00a0b\u2003c", "a b c"),
        ("髙\ufa11", "髙\ufa11"),  # of Windows, not of JIS
        ("①㈱Ⅳ", "①㈱Ⅳ"),
        ("ｱｲｳ", "ｱｲｳ"),
    ],
)
def test_shift_jis_is_that_of_windows(name: str, shown: str) -> None:
    """SH-8"""
    assert in_shift_jis(name) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("か\u3099き\u3099", "がぎ"),
        ("は\u309a", "ぱ"),
        ("ｶ\u3099", "ｶ〓"),
        ("e\u0301", "〓"),
        ("é", "〓"),
        ("葛\U000e0100飾", "葛飾"),  # another shape of the same character
        ("☎\ufe0f", "〓"),
        ("山\u200b田\u2060", "山田"),
        ("\ufeff山田", "山田"),
    ],
)
def test_marks_are_composed_and_what_is_not_shown_is_left_out(name: str, shown: str) -> None:
    """SH-8: a Mac writes が as two characters."""
    assert in_shift_jis(name) == shown


@pytest.mark.parametrize("name", ["\ufa19", "\ufa1b", "\uf9dc", "\uf9dc\U0001f375"])
def test_a_name_keeps_the_old_form_of_its_characters(name: str) -> None:
    """SH-8: Windows has them, and composing everything would put today's in their place."""
    assert unicodedata.normalize("NFC", name) != name
    assert in_shift_jis(name) == name.replace("\U0001f375", "〓")


@pytest.mark.parametrize("name", ["🍵", "𠮷", "한", "ñ", "\x81", "\U000f0000", "\ud800", "👨‍👩‍👧"])
def test_what_shift_jis_lacks_is_a_geta_mark(name: str) -> None:
    """SH-8: the file is written, and everybody sees that something is missing."""
    seen = name.replace("\u200d", "")
    assert in_shift_jis(f"山{name}田") == "山" + "〓" * len(seen) + "田"


def test_what_shift_jis_has_is_written_as_it_is() -> None:
    """SH-8: all of it, character by character."""
    known = [
        bytes(pair).decode("cp932", "replace")
        for first in [*range(0x81, 0xA0), *range(0xE0, 0xFD)]
        for pair in ([first, second] for second in range(0x40, 0xFD))
    ]
    characters = [one for one in known if len(one) == 1 and one != "\ufffd"]
    assert len(characters) > 9000
    assert in_shift_jis("山" + "".join(characters)) == "山" + "".join(characters)


def test_half_a_character_stops_no_file() -> None:
    """SE-4"""
    assert name_in(written(named("山\ud800田"))) == "山?田"


# --- for all texts ---------------------------------------------------------------------------

SIGNS = st.sampled_from("=+-@|%＝＋－＠−﹣⁼'\"\t\r\n\0 \u3000\u00a0\u200b\ufeff\u0301\ufe0f,;a山")
ANY_TEXT = st.text() | st.text(SIGNS) | st.text(st.characters(exclude_categories=[]))


def line_of(cells: Sequence[str]) -> Line:
    order_number, sku, name, recipient, postal_code, address, phone = cells
    told = (recipient, postal_code, address, phone)
    return Line(1, "OUTBOUND", order_number, sku, name, 2, *told)


CELLS = st.lists(ANY_TEXT, min_size=7, max_size=7).map(line_of)


@given(st.lists(CELLS, max_size=4), st.sampled_from([UTF_8, SHIFT_JIS]))
def test_whatever_is_written_is_read_as_as_many_cells(lines: list[Line], encoding: str) -> None:
    """SH-8, SE-4"""
    found = read(written(*lines, encoding=encoding), encoding)
    assert [len(line) for line in found] == [len(COLUMNS)] * len(lines)


@given(CELLS, st.sampled_from([UTF_8, SHIFT_JIS]))
def test_whatever_is_written_no_cell_begins_a_formula(line: Line, encoding: str) -> None:
    """SE-4"""
    for cell in read(written(line, encoding=encoding), encoding)[0]:
        assert not runs(cell), ascii(cell)


@given(CELLS)
@example(line_of(["=1", "'=1", "''=1", "'", "", "' '=", "'a"]))
def test_the_text_can_be_had_back(line: Line) -> None:
    """SE-4: what was put in front can be told from what was there."""
    (found,) = read(written(line))
    wanted = [str(cell).encode(errors="replace").decode() for cell in line]
    assert [as_it_was(cell) for cell in found] == wanted


@given(st.text(), st.text())
def test_two_texts_are_never_written_alike(one: str, other: str) -> None:
    """SE-4"""
    assert (safe(one) == safe(other)) == (one == other)
    assert safe(one) != f"'{one}" or safe(f"'{one}") == f"''{one}"


@given(st.lists(CELLS, max_size=4), st.sampled_from([UTF_8, SHIFT_JIS]))
def test_the_same_shipments_are_the_same_bytes(lines: list[Line], encoding: str) -> None:
    """SH-8: whoever writes the file again writes the same one."""
    assert written(*lines, encoding=encoding) == written(*lines, encoding=encoding)
