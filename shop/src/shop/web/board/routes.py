"""`GET /jobs`, for people."""

import logging
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.exc import SQLAlchemyError

from shop import html_page
from shop.web.board.look import look
from shop.web.board.page import board_page, trouble_page
from shop.web.board.view import View
from shop.web.board.words import words_for
from todoke import Todoke

log = logging.getLogger("shop.web.board")

# No control characters: PostgreSQL takes no NUL, and a job's name has none of them.
JobName = Annotated[str | None, Query(max_length=200, pattern=r"^\P{C}*$")]


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(prefix="/jobs", include_in_schema=False)

    @router.get("")
    def show_board(
        request: Request,
        job: JobName = None,
        lang: str | None = None,
        refresh: Literal["on", "off"] = "on",
    ) -> Response:
        words = words_for(lang, request.headers.get("accept-language", ""))
        view = View(words, job or None, refresh == "on")
        try:
            found = look(app, view.job)
        except SQLAlchemyError:
            # A page that goes on looking comes back by itself; one of JSON would stay.
            log.warning("the job board cannot read the database", exc_info=True)
            return html_page.html(trouble_page(view), status=503)
        return html_page.html(board_page(found, view))

    @router.get("/style.css")
    def style() -> Response:
        return html_page.style("shop.web.board")

    return router
