"""Requests with an idempotency key are done once: as middleware, or around a single view.

atomic: accept the key ── atomic: the view ─┬─ its answer is kept ── COMMIT
                                            ├─ undone, its refusal is kept ── COMMIT
                                            └─ nothing is kept ── ROLLBACK, the key is free
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, ClassVar

from asgiref.sync import async_to_sync
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from todoke.django.once import Asked, answer_once
from todoke.django.stored_response import response_of
from todoke.web.answer import Answered
from todoke.web.key import key_in, missing_key

View = Callable[..., Any]


class IdempotencyMiddleware(MiddlewareMixin):
    """The last of MIDDLEWARE, so that what the others refuse is no outcome of the request.

    Derive a class to say who a caller is, or which methods and header count.
    """

    header: ClassVar[str] = "Idempotency-Key"
    methods: ClassVar[Collection[str]] = ("POST", "PATCH")

    def caller(self, request: HttpRequest) -> str:
        """Whose key it is: the same key of another caller is another one."""
        user = getattr(request, "user", None)
        return str(user.pk) if user is not None and user.is_authenticated else ""

    def tenant(self, request: HttpRequest) -> str:
        return ""

    def operation(self, request: HttpRequest) -> str:
        found = request.resolver_match
        return f"{request.method} /{found.route if found else request.path.lstrip('/')}"

    def process_view(
        self, request: HttpRequest, view: View, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> HttpResponse | None:
        if request.method not in self.methods or self.header not in request.headers:
            return None
        return self._answer(request, partial(_atomic(view), request, *args, **kwargs))

    @classmethod
    def decorate(cls, view: View) -> View:
        """The same around one view, which then needs a key."""
        rules, plain = cls(view), _plain(view)

        @wraps(view)
        def call(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            once = partial(plain, request, *args, **kwargs)
            is_ours = request.method in rules.methods
            if is_ours and not hasattr(request, "once"):  # the middleware may have seen to it
                return rules._answer(request, once)
            return once()

        return call

    def _answer(self, request: HttpRequest, view: Callable[[], Any]) -> HttpResponse:
        try:
            return answer_once(self._asked(request), view)
        except Answered as known:
            return response_of(known.answer)

    def _asked(self, request: HttpRequest) -> Asked:
        sent = request.headers.get(self.header)
        key = key_in([] if sent is None else [sent], self.header)
        if key is None:
            raise Answered(missing_key(f"the header {self.header}"))
        return Asked(
            request, key, self.caller(request), self.tenant(request), self.operation(request)
        )


idempotent = IdempotencyMiddleware.decorate


def _plain(view: View) -> View:
    """A transaction of Django's belongs to one thread, so async views run in one, too."""
    return async_to_sync(view) if iscoroutinefunction(view) else view


def _atomic(view: View) -> View:
    """With what Django puts around a view that middleware has left to it: ATOMIC_REQUESTS."""
    plain, apart = _plain(view), getattr(view, "_non_atomic_requests", ())
    for database in connections.all():
        if database.settings_dict["ATOMIC_REQUESTS"] and database.alias not in apart:
            plain = transaction.atomic(using=database.alias)(plain)
    return plain
