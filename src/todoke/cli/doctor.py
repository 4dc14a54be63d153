"""`todoke doctor`: what would hurt, found before it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.screen import counted, one_line, say, say_json
from todoke.doctor.examine import LONG_TRANSACTION
from todoke.finding import Finding

_STYLES = {"ok": "green", "warn": "yellow", "bad": "red", "unknown": "cyan"}


def doctor(
    app: AppOption = None,
    long_transaction: Annotated[
        str, typer.Option(metavar="TIME", help="Tell transactions that are open for so long.")
    ] = LONG_TRANSACTION,
    as_json: JsonOption = False,
) -> None:
    """Examine the database and the settings; exit code 1 when something is bad."""
    with application(app) as found:
        findings = found.doctor(long_transaction=long_transaction)
    if as_json:
        say_json([asdict(one) for one in findings])
    else:
        say(*_page(findings))
    if any(one.verdict == "bad" for one in findings):
        raise typer.Exit(1)


def _page(findings: Sequence[Finding]) -> list[Text]:
    width = max(len(one.check) for one in findings)
    lines = [line for one in findings for line in _lines(one, width)]
    return [*lines, Text(""), _sum(findings)]


def _lines(finding: Finding, width: int) -> list[Text]:
    verdict = (f"{finding.verdict:<7}", _STYLES[finding.verdict])
    check = (f"  {finding.check:<{width}}", "dim")
    lines = [Text.assemble(verdict, check, f"  {one_line(finding.found)}")]
    if finding.remedy is not None:
        lines.append(Text(" " * (width + 11) + f"remedy: {one_line(finding.remedy)}"))
    return lines


def _sum(findings: Sequence[Finding]) -> Text:
    counts = [sum(one.verdict == verdict for one in findings) for verdict in _STYLES]
    told = (f"{count} {verdict}" for verdict, count in zip(_STYLES, counts, strict=True) if count)
    return Text(f"{counted(len(findings), 'finding')}: {', '.join(told)}")
