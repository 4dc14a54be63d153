"""The board as a page. Every value passes `escape`; nothing a job says becomes markup."""

from collections.abc import Sequence
from html import escape

from shop.html_page import EVERY, frame, other_language
from shop.web.board.amounts import count, moment
from shop.web.board.look import Look, Workers
from shop.web.board.sections import running, runs, schedules, waits
from shop.web.board.view import View
from shop.web.board.words import Words


def board_page(found: Look, view: View) -> str:
    words = view.words
    heading = (
        f"<h1>{escape(words.title)}</h1><span class=count>{escape(found.app)}, "
        f"{escape(words.as_of.format(moment=moment(found.at)))}</span>"
    )
    sections = [running, schedules, waits]
    # Who asks for one job wants its runs, not the way to them.
    sections.insert(len(sections) if view.job is None else 0, runs)
    content = "".join(section(found, view) for section in sections)
    return _page(view, heading, _figures(found, words) + content)


def trouble_page(view: View) -> str:
    heading = f"<h1>{escape(view.words.title)}</h1>"
    return _page(view, heading, f'<p class="trouble">{escape(view.words.trouble)}</p>')


def _page(view: View, heading: str, content: str) -> str:
    words = view.words
    there = other_language(words, view.address(words.other_language))
    told = words.refreshes.format(seconds=EVERY) if view.refreshes else words.stands_still
    turn = view.turned().link(words.stop if view.refreshes else words.go_on)
    return frame(
        words.title,
        f"<div>{heading}</div>{there}",
        f'{content}<p class="refresh">{escape(told)} {turn}</p>',
        language=words.language,
        css="/jobs/style.css",
        refresh=view.refreshes,
    )


def _figures(found: Look, words: Words) -> str:
    works, remark = _workers(found.workers, words)
    dead = words.dead_open if found.dead else words.dead_none
    figures: Sequence[tuple[str, int, str, bool]] = (
        (words.running, found.running, "", False),
        (words.waiting, found.waiting, "", False),
        (words.dead, found.dead, dead, found.dead > 0),
        (words.workers, works, remark, works == 0),
    )
    return f'<dl class="figures">{"".join(_figure(*one) for one in figures)}</dl>'


def _figure(name: str, number: int, remark: str, alarms: bool) -> str:
    told = f"<small>{escape(remark)}</small>" if remark else ""
    alarm = ' class="alarm"' if alarms else ""
    return f"<div{alarm}><dt>{escape(name)}</dt><dd>{count(number)}{told}</dd></div>"


def _workers(workers: Workers, words: Words) -> tuple[int, str]:
    living = workers.registered - (workers.silent or 0)
    if workers.silent:
        return living, words.workers_silent.format(count=workers.silent)
    if living == 0:
        return 0, words.workers_none
    return living, words.workers_registered if workers.silent is None else words.workers_live
