"""Findings as people see them: the verdict, what was looked at, the value found, the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.text import Text

from todoke.cli.screen import counted, one_line, say, say_json
from todoke.finding import Finding

_STYLES = {"ok": "green", "warn": "yellow", "bad": "red", "unknown": "cyan"}


def tell(findings: Sequence[Finding], *, as_json: bool) -> None:
    """Say them all, or their JSON."""
    if as_json:
        say_json([asdict(one) for one in findings])
    else:
        say(*_page(findings))


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
