"""Where shipment files are written, and how: `jobs.export.*`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from shop.settings import Section
from shop.shipping.context import shipping
from shop.shipping.shipment_csv import ENCODINGS, UTF_8
from todoke import Settings


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    folder: Path = Path("var/export")
    encoding: str = UTF_8
    shipments_per_file: int = 1000

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            known = " or ".join(ENCODINGS)
            raise ValueError(f"jobs.export.encoding is {self.encoding!r}; write {known}")

    @classmethod
    def read(cls, settings: Settings) -> Self:
        export = Section(settings, "jobs.export")
        return cls(
            folder=export.file("folder") or cls.folder,
            encoding=export.text("encoding") or cls.encoding,
            shipments_per_file=export.number(
                "shipments_per_file", cls.shipments_per_file, most=2_000
            ),
        )


@shipping.provide
def export_settings(settings: Settings) -> ExportSettings:
    return ExportSettings.read(settings)
