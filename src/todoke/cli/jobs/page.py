"""Jobs and their runs on a screen, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.text import Text

from todoke.cli.payload import Payloads
from todoke.cli.screen import (
    Cell,
    block,
    counted,
    facts,
    fitting,
    length,
    moment,
    one_line,
    status,
    table,
)
from todoke.jobs.records import JobCounts, JobRecord, RunRecord
from todoke.telemetry import masked

_HEADS = ["ID", "STATUS", "JOB", "QUEUE", "ATTEMPTS", "DONE", "AGE"]
_COUNT_HEADS = ["CONTEXT", "QUEUE", "JOB", "READY", "LATER", "HELD", "RUNNING", "OLDEST", ""]


# --- many ------------------------------------------------------------------------------------


def lines(records: Sequence[JobRecord], now: datetime) -> list[Text]:
    """A table in which a line of its own says why one waits, or how one ended."""
    rows = [_row(one, now) for one in records]
    head, *body = table(_HEADS, rows, shrink=["JOB", "QUEUE"])
    told = [head]
    for row, one in zip(body, records, strict=True):
        remark = one.why_waiting or (None if one.status == "PROCESSED" else one.note) or one.error
        told += [row, *([fitting(remark, indent=4)] if remark else [])]
    return told


def summary(record: JobRecord) -> dict[str, Any]:
    told = asdict(record) | {"unique": _key(record)}
    del told["argument"]
    return told


def figures(counts: Sequence[JobCounts]) -> list[Text]:
    rows = [
        [
            one.context,
            one.queue,
            one.job,
            *(str(number) for number in (one.ready, one.later, one.held, one.running)),
            "" if one.oldest is None else length(one.oldest),
            Text(one_line(f"paused {one.paused}"), style="yellow") if one.paused else "",
        ]
        for one in counts
    ]
    return table(_COUNT_HEADS, rows, shrink=["JOB", "QUEUE"])


def progress(processed: int | None, total: int | None) -> str:
    if processed is None:
        return ""
    return f"{processed:,}" if total is None else f"{processed:,} of {total:,}"


def _row(record: JobRecord, now: datetime) -> list[Cell]:
    return [
        str(record.id),
        status(record.status),
        record.job,
        record.queue,
        _attempts(record),
        progress(record.processed, record.total),
        length(now - record.created_at),
    ]


# --- one -------------------------------------------------------------------------------------


def page(record: JobRecord, runs: Sequence[RunRecord], payloads: Payloads) -> list[Text]:
    lines = facts(
        {
            "job": str(record.id),
            "name": record.job,
            "status": status(record.status),
            "waits": record.why_waiting,
            "context": record.context,
            "queue": record.queue,
            "priority": str(record.priority),
            "attempts": _attempts(record),
            "worker": record.worker,
            "done": progress(record.processed, record.total),
            "created": moment(record.created_at),
            "due": moment(record.scheduled_at) if record.status == "PENDING" else None,
            "ended": moment(record.settled_at),
            "schedule": record.schedule,
            "tick": moment(record.tick),
            "unique": _key(record),
            "batch": None if record.batch is None else str(record.batch),
            "note": record.note,
            "error": record.error,
        }
    )
    for run in reversed(runs):
        lines += [Text(""), *_run(run, payloads)]
    return lines + block("argument", payloads.text(record.context, record.job, record.argument))


def whole(record: JobRecord, runs: Sequence[RunRecord], payloads: Payloads) -> dict[str, Any]:
    argument = payloads.data(record.context, record.job, record.argument)
    told = [asdict(run) | {"result": _result(run, payloads)} for run in runs]
    return summary(record) | {"argument": argument, "runs": told}


def _run(run: RunRecord, payloads: Payloads) -> list[Text]:
    head = Text.assemble((f"run {run.attempt}", "bold"), "  ", status(run.status))
    error = f"{run.error_code}: {run.error_message}" if run.error_code else None
    told = facts(
        {
            "worker": run.worker,
            "started": moment(run.started_at),
            "took": _took(run),
            "done": progress(run.processed, run.total),
            "metrics": ", ".join(f"{name} {value:,}" for name, value in run.metrics.items()),
            "result": None if run.result is None else _text(_result(run, payloads)),
            "note": run.note,
            "error": error,
        }
    )
    lines = [head, *(Text("  ") + line for line in told)]
    if run.log:
        lines += block(f"  {counted(len(run.log), 'line')} of its log", "\n".join(run.log))
    if run.error_traceback:
        lines += block("  traceback", run.error_traceback)
    return lines


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)


def _took(run: RunRecord) -> str | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return length(run.finished_at - run.started_at)


def _result(run: RunRecord, payloads: Payloads) -> Any:
    return None if run.result is None else payloads.result(run.job, run.result)


def _attempts(record: JobRecord) -> str:
    of = f" of {record.max_attempts}" if record.max_attempts else ""
    return f"{record.attempts}{of}"


def _key(record: JobRecord) -> str | None:
    return None if record.unique is None else masked(record.unique)
