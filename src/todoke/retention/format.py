"""How archive files are compressed: frame by frame, so that a torn end spoils nothing before it."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from todoke.errors import InvalidOption

_GZIP = 31  # zlib's word for: with gzip's head and checksum


class Decoder(Protocol):
    """Reads one frame; what lies behind it is `unused_data`."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Format:
    """One way to compress; `damaged` is what a decoder raises where a frame is broken."""

    suffix: str
    compress: Callable[[bytes], bytes]
    decoder: Callable[[], Decoder]
    damaged: type[Exception]


SUFFIXES = ("jsonl.zst", "jsonl.gz")


def format_of(suffix: str) -> Format:
    if suffix == "jsonl.gz":
        return Format(suffix, _to_gzip, lambda: zlib.decompressobj(_GZIP), zlib.error)
    if suffix == "jsonl.zst":
        zstd = _zstd()
        checked = {zstd.CompressionParameter.checksum_flag: 1}
        return Format(
            suffix,
            lambda data: bytes(zstd.compress(data, options=checked)),
            zstd.ZstdDecompressor,
            zstd.ZstdError,
        )
    raise InvalidOption("archive.format", suffix, f"one of {', '.join(SUFFIXES)}.")


def format_for(file: Path) -> Format:
    """By the file's name."""
    suffix = next((one for one in SUFFIXES if file.name.endswith(f".{one}")), None)
    if suffix is None:
        ends = " or ".join(f".{one}" for one in SUFFIXES)
        raise InvalidOption("archive file", file.name, f"its name must end with {ends}.")
    return format_of(suffix)


def _to_gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _zstd() -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd  # noqa: PLC0415
        else:
            from backports import zstd  # noqa: PLC0415
    except ImportError as error:
        raise InvalidOption(
            "archive.format",
            "jsonl.zst",
            "needs a package that is not installed: pip install 'todoke[archive]', or set "
            'archive.format = "jsonl.gz".',
        ) from error
    return zstd
