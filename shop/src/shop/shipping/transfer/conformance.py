"""What every strategy has to pass, wherever it brings files. Needs pytest.

class TestLocalTransfer(TransferConformance):
    @pytest.fixture
    def counterpart(self) -> Counterpart: ...

    @pytest.fixture
    def strategy(self, counterpart: Counterpart) -> TransferStrategy: ...
"""

from pathlib import Path
from random import Random
from typing import Protocol

import pytest

from shop.shipping.transfer.strategy import TransferStrategy, draft_name
from todoke import PermanentError

NAME = "shipments-20260105.csv"
DRAFT = draft_name(NAME)
CONTENT = Random(1).randbytes(700_001)  # noqa: S311
"""More than one piece, and no whole number of them."""

HOSTILE_NAMES = [
    "",
    ".",
    "..",
    ".hidden",
    "../up.csv",
    "/etc/passwd",
    "a/b.csv",
    "a\\b.csv",
    "..\\up.csv",
    "\\\\server\\share",
    "C:a.csv",
    "a.csv\n",
    "a.csv\0",
    "a b.csv",
    "~root",
    "%2e%2e%2fup.csv",
    "．．／up.csv",  # full-width
    "‥.csv",  # two dots in one letter
    "注文.csv",
    "a.csv.",
    "con",
    "NUL.csv",
    "a" * 201,
]


class Counterpart(Protocol):
    """The folder at the other end, as its owner sees it."""

    def names(self) -> set[str]:
        """Of all that is there, drafts too."""

    def content(self, name: str) -> bytes: ...

    def put(self, name: str, content: bytes) -> None:
        """As if the strategy had written it."""

    def link(self, name: str, target: Path) -> None:
        """A symbolic link by this name."""

    def take(self, name: str) -> None:
        """Move the file away, as receivers do."""


def written(folder: Path, content: bytes) -> Path:
    (folder / "to-send").mkdir(exist_ok=True)
    file = folder / "to-send" / NAME
    file.write_bytes(content)
    return file


class TransferConformance:
    """Subclass it, and give it the two fixtures `counterpart` and `strategy`."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        return written(tmp_path, CONTENT)

    async def test_a_file_arrives_whole_under_its_name(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path
    ) -> None:
        """F23"""
        async with strategy.open() as place:
            await place.upload(file)
            assert await place.reveal(NAME)
        assert counterpart.names() == {NAME}
        assert counterpart.content(NAME) == CONTENT
        assert file.read_bytes() == CONTENT
        assert strategy.where

    async def test_an_empty_file_arrives_too(
        self, strategy: TransferStrategy, counterpart: Counterpart, tmp_path: Path
    ) -> None:
        """F23"""
        async with strategy.open() as place:
            await place.upload(written(tmp_path, b""))
            assert await place.reveal(NAME)
        assert counterpart.content(NAME) == b""

    async def test_until_it_is_revealed_receivers_see_no_file(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path
    ) -> None:
        """F23: they take no name that begins with a dot."""
        async with strategy.open() as place:
            await place.upload(file)
        assert counterpart.names() == {DRAFT}
        assert counterpart.content(DRAFT) == CONTENT

    @pytest.mark.parametrize("length", [1, 32_768, 500_000, len(CONTENT)])
    async def test_an_upload_that_was_cut_off_is_completed(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path, length: int
    ) -> None:
        """F23"""
        counterpart.put(DRAFT, CONTENT[:length])
        async with strategy.open() as place:
            await place.upload(file)
            assert await place.reveal(NAME)
        assert counterpart.content(NAME) == CONTENT

    @pytest.mark.parametrize(
        "foreign",
        [
            CONTENT + b"more",
            CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]),
            bytes([CONTENT[0] ^ 1]) + CONTENT[1:400_000],
            CONTENT[:100_000] + bytes(100_000) + CONTENT[200_000:300_000],
        ],
        ids=["longer", "last byte", "first byte", "with a hole"],
    )
    async def test_a_draft_that_is_no_beginning_of_the_file_is_begun_anew(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path, foreign: bytes
    ) -> None:
        """F23"""
        counterpart.put(DRAFT, foreign)
        async with strategy.open() as place:
            await place.upload(file)
        assert counterpart.content(DRAFT) == CONTENT

    async def test_uploading_and_revealing_again_changes_nothing(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path
    ) -> None:
        """F23: a worker that died after each step repeats it."""
        async with strategy.open() as place:
            await place.upload(file)
            await place.upload(file)
            assert await place.reveal(NAME)
            assert await place.reveal(NAME)
            await place.upload(file)
            assert await place.reveal(NAME)
        assert counterpart.names() == {NAME}
        assert counterpart.content(NAME) == CONTENT

    async def test_a_rename_that_left_both_names_is_completed(
        self, strategy: TransferStrategy, counterpart: Counterpart
    ) -> None:
        """F23"""
        counterpart.put(DRAFT, CONTENT)
        counterpart.put(NAME, CONTENT)
        async with strategy.open() as place:
            assert await place.reveal(NAME)
        assert counterpart.names() == {NAME}

    async def test_what_a_receiver_has_taken_is_not_there(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path
    ) -> None:
        """F23: whether it was there before, only the caller knows."""
        async with strategy.open() as place:
            assert not await place.reveal(NAME)
            await place.upload(file)
            assert await place.reveal(NAME)
            counterpart.take(NAME)
            assert not await place.reveal(NAME)

    @pytest.mark.parametrize(
        "theirs", [b"theirs", bytes(len(CONTENT))], ids=["other size", "same size"]
    )
    async def test_a_file_with_other_content_is_never_overwritten(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path, theirs: bytes
    ) -> None:
        """F23"""
        counterpart.put(NAME, theirs)
        async with strategy.open() as place:
            await place.upload(file)
            with pytest.raises(PermanentError, match=NAME) as refused:
                await place.reveal(NAME)
        assert refused.value.code == "TRANSFER_NAME_TAKEN"
        assert counterpart.content(NAME) == theirs
        assert counterpart.content(DRAFT) == CONTENT

    async def test_a_name_that_could_lead_elsewhere_is_refused(
        self, strategy: TransferStrategy, counterpart: Counterpart
    ) -> None:
        """S14"""
        async with strategy.open() as place:
            for name in HOSTILE_NAMES:
                with pytest.raises(PermanentError) as refused:
                    await place.reveal(name)
                assert refused.value.code == "TRANSFER_BAD_NAME"
        assert counterpart.names() == set()

    async def test_a_file_with_such_a_name_is_not_sent(
        self, strategy: TransferStrategy, counterpart: Counterpart
    ) -> None:
        """S14"""
        async with strategy.open() as place:
            for name in HOSTILE_NAMES:
                if not name or Path(name).name != name:
                    continue  # no name of a file, or one that is known by another
                with pytest.raises(PermanentError) as refused:
                    await place.upload(Path("to-send", name))
                assert refused.value.code == "TRANSFER_BAD_NAME"
        assert counterpart.names() == set()

    async def test_a_link_in_place_of_the_draft_is_not_followed(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path, tmp_path: Path
    ) -> None:
        """S14"""
        target = tmp_path / "target"
        target.write_bytes(CONTENT[:1000])
        counterpart.link(DRAFT, target)
        async with strategy.open() as place:
            with pytest.raises(PermanentError) as of_upload:
                await place.upload(file)
            with pytest.raises(PermanentError) as of_reveal:
                await place.reveal(NAME)
        assert of_upload.value.code == of_reveal.value.code == "TRANSFER_NO_FILE"
        assert target.read_bytes() == CONTENT[:1000]
        assert counterpart.names() == {DRAFT}

    async def test_a_link_in_place_of_the_file_is_not_replaced(
        self, strategy: TransferStrategy, counterpart: Counterpart, file: Path, tmp_path: Path
    ) -> None:
        """S14"""
        counterpart.link(NAME, tmp_path / "nowhere")
        async with strategy.open() as place:
            await place.upload(file)
            with pytest.raises(PermanentError) as refused:
                await place.reveal(NAME)
        assert refused.value.code == "TRANSFER_NAME_TAKEN"
        assert counterpart.names() == {DRAFT, NAME}
