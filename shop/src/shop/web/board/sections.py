"""The sections of the board: what runs, what is due, what waits, what has run."""

from collections.abc import Sequence
from html import escape

from shop.web.board.amounts import NONE, count, length, moment, share
from shop.web.board.look import MOST_RUNS, Look, Underway
from shop.web.board.table import badge, quiet, table
from shop.web.board.view import View
from shop.web.board.words import Words
from todoke.operate import JobCounts, RunRecord, ScheduleRecord

_LONGEST_TEXT = 300


def running(found: Look, view: View) -> str:
    words = view.words
    heads = (words.job, words.progress, words.attempt, words.worker, words.since, words.duration)
    rows = [_underway(one, found, view) for one in found.underway]
    shown, all_of_them = len(rows), found.running
    caption = words.running_caption
    if shown < all_of_them:
        more = words.more_run.format(shown=count(shown), count=count(all_of_them))
        caption = f"{caption}. {more}"
    content = _filled("running", caption, heads, rows, words.nothing_runs)
    return _section(words.running_now, content)


def schedules(found: Look, view: View) -> str:
    words = view.words
    heads = (words.schedule, words.timetable, words.next_tick, words.last_tick, words.state)
    rows = [_schedule(one, view) for one in found.schedules]
    content = _filled("schedules", words.schedules_caption, heads, rows, words.no_schedule)
    return _section(words.schedules, content)


def waits(found: Look, view: View) -> str:
    words = view.words
    kinds = (words.ready, words.later, words.held, words.running)
    heads = (words.job, words.queue, *kinds, words.oldest)
    rows = [_waiting(one, view) for one in found.counts]
    content = _filled("waiting", words.waits_caption, heads, rows, words.nothing_waits)
    return _section(words.waits, content)


def runs(found: Look, view: View) -> str:
    words, job = view.words, view.job
    timing = (words.started, words.duration)
    heads = (words.job, words.status, words.attempt, words.processed, *timing, words.note)
    rows = [_run(one, found, view) for one in found.runs]
    caption = words.runs_caption.format(count=MOST_RUNS)
    if job is None:
        content = _filled("runs", caption, heads, rows, words.no_runs)
        return _section(words.runs, content)
    content = _filled("runs", caption, heads, rows, words.no_runs_of.format(job=job))
    back = f"<p>{view.of_job(None).link(words.all_jobs)}</p>"
    return _section(words.runs_of.format(job=job), back + content)


# --- rows ------------------------------------------------------------------------------------


def _underway(one: Underway, found: Look, view: View) -> Sequence[str]:
    words, record = view.words, one.record
    since = words.just_taken if one.since is None else moment(one.since)
    return (
        _job(record.job, str(record.id), view),
        _progress(record.processed, record.total, words),
        _attempts(record.attempts, record.max_attempts, words),
        escape(record.worker or NONE),
        escape(since),
        escape(NONE if one.since is None else length(found.at - one.since, words)),
    )


def _schedule(one: ScheduleRecord, view: View) -> Sequence[str]:
    words = view.words
    its_runs = view.of_job(one.job).link(one.job)
    last = escape(words.never)
    if one.last_due is not None:
        became = badge(one.last_status or "", words.ticks)
        why = f"<br>{quiet(_short(one.last_reason))}" if one.last_reason else ""
        last = f"{escape(moment(one.last_due, one.zone))} {became}{why}"
    return (
        its_runs if one.name == one.job else f"{escape(one.name)}<br>{its_runs}",
        f"<code>{escape(one.timetable)}</code><br>{quiet(one.zone)}",
        escape(moment(one.next_due, one.zone)),
        last,
        _state(one, words),
    )


def _state(one: ScheduleRecord, words: Words) -> str:
    if one.paused_by is not None:
        since = moment(one.paused_since)
        told = words.paused.format(
            by=one.paused_by, since=since, reason=_short(one.paused_reason or "")
        )
        return _rests(told)
    if one.is_off:
        return f'<span class="badge still">{_sign("○")} {escape(words.off)}</span>'
    waiting = words.waiting_ticks.format(count=count(one.waiting))
    return escape(words.active) + (f"<br>{quiet(waiting)}" if one.waiting else "")


def _waiting(one: JobCounts, view: View) -> Sequence[str]:
    words = view.words
    rests = ""
    if one.paused is not None:
        rests = f"<br>{_rests(words.paused_by.format(by=_short(one.paused)))}"
    return (
        view.of_job(one.job).link(one.job) + rests,
        escape(f"{one.context}/{one.queue}"),
        *(escape(count(number)) for number in (one.ready, one.later, one.held, one.running)),
        escape(length(one.oldest, words)),
    )


def _run(one: RunRecord, found: Look, view: View) -> Sequence[str]:
    words = view.words
    end = one.finished_at or (found.at if one.status == "RUNNING" else None)
    took = None if end is None or one.started_at is None else end - one.started_at
    return (
        _job(one.job, str(one.job_id), view),
        badge(one.status, words.statuses),
        escape(count(one.attempt)),
        escape(share(one.processed, one.total, words)),
        escape(moment(one.started_at or one.finished_at)),
        escape(length(took, words)),
        _remark(one),
    )


# --- cells -----------------------------------------------------------------------------------


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _filled(
    name: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], nothing: str
) -> str:
    if not rows:
        return f'<p class="nothing">{escape(nothing)}</p>'
    return table(name, caption, heads, rows)


def _job(name: str, id: str, view: View) -> str:
    return f"{view.of_job(name).link(name)}<br><code>{escape(id)}</code>"


def _progress(processed: int | None, total: int | None, words: Words) -> str:
    told = escape(share(processed, total, words))
    if processed is None or not total:
        return told
    bar = f'<progress max="{total}" value="{processed}" aria-label="{escape(words.progress)}">'
    return f"{bar}</progress> <span>{told}</span>"


def _attempts(attempts: int, most: int | None, words: Words) -> str:
    if most is None:
        return count(attempts)
    return escape(words.attempts.format(number=count(attempts), most=count(most)))


def _remark(one: RunRecord) -> str:
    parts = []
    if one.error_code:
        message = escape(_short(one.error_message or ""))
        parts.append(f'<code class="error">{escape(one.error_code)}</code> {message}')
    if one.note:
        parts.append(escape(_short(one.note)))
    return "<br>".join(parts)


def _rests(told: str) -> str:
    return f'<span class="badge warning long">{_sign("❙❙")} {escape(told)}</span>'


def _sign(sign: str) -> str:
    return f'<span aria-hidden="true">{sign}</span>'


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
