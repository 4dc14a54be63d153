"""An answer as Starlette sends it."""

from __future__ import annotations

from starlette.responses import Response

from todoke.web.answer import Answer


def response_of(answer: Answer) -> Response:
    return Response(
        answer.content, answer.status, dict(answer.headers), media_type=answer.media_type
    )
