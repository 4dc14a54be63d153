"""What `manage.py test` runs inside the tea shop (`tests/web/test_django_ledger.py` copies it)."""

from __future__ import annotations

import json
from typing import Any
from unittest import skipIf
from unittest.mock import patch

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    JsonResponse,
    StreamingHttpResponse,
)
from django.template import engines
from django.template.response import SimpleTemplateResponse
from django.test import AsyncClient, TransactionTestCase, override_settings
from django.urls import path

from teashop.events import app
from teashop.models import Order
from todoke import BusinessError, Done, Event, Key
from todoke.django.middleware import IdempotencyMiddleware, idempotent

KILL = {
    "postgresql": "SELECT pg_terminate_backend(pg_backend_pid())",
    "mysql": "KILL CONNECTION_ID()",
}


class Sent(Event):
    order_id: Key[int]


class SoldOut(Event):
    article: Key[str]


@app.on(Sent)
def send(event: Sent) -> Done:
    return Done({"sent": event.order_id})


def place(request: HttpRequest, way: str = "") -> HttpResponse:
    article = json.loads(request.body)["article"]
    with transaction.atomic():
        order = Order.objects.create(article=article)
    if "X-Roll-Back" in request.headers:
        raise RuntimeError("an accident")
    if (answer := fail(article, order)) is not None:
        return answer
    document = {"id": order.pk, "article": order.article}
    return JsonResponse(document, status=201, headers={"Location": f"/orders/{order.pk}"})


def fail(article: str, order: Order) -> HttpResponse | None:
    """Articles that cannot be had, each in its own way."""
    match article:
        case "bad":
            return JsonResponse({"error": "bad"}, status=400)
        case "broken":
            return HttpResponse("broken", status=500)
        case "unknown":
            raise Http404("no such article")
        case "forbidden":
            raise PermissionDenied
        case "sold out":
            event = SoldOut(article=article)
            raise BusinessError("none is left", code="SOLD_OUT", publish=event)
        case "fire":
            raise RuntimeError("the shop is on fire")
        case "elsewhere":
            Order.objects.using("other").create(article=article)
            raise RuntimeError("an accident")
        case "killed":
            connection.cursor().execute(KILL[connection.vendor])
        case "bytes":
            return HttpResponse(b"\xff\x00", content_type="image/png", status=201)
        case "template":
            return SimpleTemplateResponse(engines["django"].from_string("お茶"))
        case "stream":
            return StreamingHttpResponse([b"a", b"b"])  # type: ignore[return-value]
    return None


def later(request: HttpRequest) -> HttpResponse:
    order = Order.objects.create(article="later")
    once = request.once  # type: ignore[attr-defined]
    with transaction.atomic():
        app.publish(connection, Sent(order_id=order.pk), settles=once.entry)
        if b"never" in request.body:
            transaction.set_rollback(True)
    return JsonResponse({"key": once.key}, status=202)


async def place_async(request: HttpRequest) -> HttpResponse:
    article = json.loads(request.body)["article"]
    order = await Order.objects.acreate(article=article)
    if article == "fire":
        raise RuntimeError("the shop is on fire")
    return JsonResponse({"id": order.pk}, status=201)


class ByDesk(IdempotencyMiddleware):
    header = "X-Key"
    methods = ("PUT",)

    def caller(self, request: HttpRequest) -> str:
        return request.headers["X-Desk"]


urlpatterns = [
    path("orders", place),
    path("orders/<str:way>/again", place),
    path("later", later),
    path("async", place_async),
    path("single", idempotent(place)),
    path("single/async", idempotent(place_async)),
    path("desk", ByDesk.decorate(place)),
]

WITHOUT = ["django.contrib.sessions.middleware.SessionMiddleware"]


@override_settings(ROOT_URLCONF="teashop.test_ledger_suite", DEBUG=False)
class Keys(TransactionTestCase):
    databases = {"default", "other"}  # noqa: RUF012

    def post(
        self, place: str = "/orders", article: str = "sencha", key: str | None = "a", **more: Any
    ) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        self.client.raise_request_exception = False
        body = {"article": article}
        return self.client.post(place, body, "application/json", headers=headers, **more)

    def twice(self, **given: Any) -> Any:
        """The first answer, once the second is found to be the same."""
        first, second = self.post(**given), self.post(**given)
        self.assertEqual(
            (first.status_code, first.content, first.headers.get("Location")),
            (second.status_code, second.content, second.headers.get("Location")),
        )
        self.assertEqual(first.headers["Content-Type"], second.headers["Content-Type"])
        self.assertNotIn("Idempotency-Replayed", first.headers)
        self.assertEqual(second.headers["Idempotency-Replayed"], "true")
        return first

    def articles(self) -> list[str]:
        return [order.article for order in Order.objects.order_by("pk")]

    def entries(self) -> list[Any]:
        with app.session() as session:
            return app.ledger.list(session)

    def published(self) -> list[str]:
        with app.session() as session:
            return [one.type for one in app.events.list(session)]

    def problem(self, answer: Any) -> tuple[int, str]:
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        return answer.status_code, answer.json()["type"].rpartition(":")[2]

    def test_a_repeat_gets_the_same_answer(self) -> None:
        first = self.twice()
        self.assertEqual((first.status_code, first.json()["article"]), (201, "sencha"))
        self.assertEqual(self.articles(), ["sencha"])
        (entry,) = self.entries()
        self.assertEqual((entry.state, entry.operation), ("succeeded", "POST /orders"))

    def test_bytes_and_templates_are_kept_as_they_are(self) -> None:
        self.assertEqual(self.twice(article="bytes").content, b"\xff\x00")
        self.assertEqual(self.twice(article="template", key="b").content.decode(), "お茶")

    def test_without_a_key_the_middleware_does_nothing(self) -> None:
        for _ in range(2):
            self.assertEqual(self.post(key=None).status_code, 201)
        self.assertEqual((len(self.articles()), self.entries()), (2, []))

    def test_another_body_query_or_path_is_another_request(self) -> None:
        self.post(place="/orders/one/again")
        for place, article in [
            ("/orders/one/again", "matcha"),
            ("/orders/one/again?dry=1", "sencha"),
            ("/orders/two/again", "sencha"),
        ]:
            answer = self.post(place, article)
            self.assertEqual(self.problem(answer), (409, "key-reused"))
        self.assertEqual(self.articles(), ["sencha"])

    def test_what_the_view_refuses_is_kept_and_undone(self) -> None:
        for article, status in {"bad": 400, "unknown": 404, "forbidden": 403}.items():
            self.assertEqual(self.twice(article=article, key=article).status_code, status)
        self.assertEqual(self.articles(), [])
        self.assertEqual({one.state for one in self.entries()}, {"failed"})

    def test_a_business_error_is_a_problem_and_its_event_is_published(self) -> None:
        first = self.twice(article="sold out")
        self.assertEqual(self.problem(first), (422, "refused"))
        self.assertEqual((first.json()["code"], self.published()), ("SOLD_OUT", ["sold-out"]))
        self.assertEqual(self.entries()[0].error_code, "SOLD_OUT")
        self.assertEqual(self.articles(), [])

    def test_what_broke_leaves_the_key_free_and_nothing_behind(self) -> None:
        for article in ("fire", "broken", "stream"):
            self.assertEqual(self.post(article=article).status_code, 500)
            self.assertEqual((self.articles(), self.entries()), ([], []))
        self.assertEqual(self.post().status_code, 201)

    def test_with_store_all_what_broke_is_kept(self) -> None:
        with patch.object(app, "settings", app.settings.with_values({"ledger.store": "all"})):
            self.assertEqual(self.problem(self.twice(article="fire")), (500, "failed"))
            self.assertEqual(self.twice(article="broken", key="b").status_code, 500)
        self.assertEqual(self.articles(), [])

    def test_with_store_success_a_refusal_is_not_kept(self) -> None:
        with patch.object(app, "settings", app.settings.with_values({"ledger.store": "success"})):
            for article in ("bad", "unknown", "sold out"):
                self.assertGreaterEqual(self.post(article=article).status_code, 400)
        self.assertEqual((self.articles(), self.entries()), ([], []))

    def test_a_message_may_settle(self) -> None:
        first = self.post(place="/later")
        self.assertEqual((first.status_code, first.json()), (202, {"key": "a"}))
        waiting = self.post(place="/later")
        self.assertEqual((waiting.status_code, waiting.json()["status"]), (200, "accepted"))
        self.assertEqual(waiting.headers["Retry-After"], "5")
        app.drain()
        settled = self.post(place="/later")
        self.assertEqual(settled.json()["result"], {"sent": Order.objects.get().pk})
        self.assertEqual(settled.headers["Idempotency-Replayed"], "true")

    def test_a_message_that_was_taken_back_settles_nothing(self) -> None:
        self.assertEqual(self.twice(place="/later", article="never").status_code, 202)
        self.assertEqual(self.published(), [])

    def test_each_user_has_keys_of_its_own(self) -> None:
        for name in ("hanako", "mika"):
            self.client.force_login(User.objects.create_user(name))
            self.assertEqual(self.twice(article=name).json()["article"], name)
        self.assertEqual(len({one.caller for one in self.entries()}), 2)

    def test_what_cannot_be_a_key_is_refused(self) -> None:
        for key in ("", "k" * 256, '"open'):
            self.assertEqual(self.problem(self.post(key=key)), (400, "invalid-key"))

    @skipIf(connection.vendor == "sqlite", "a file cannot be lost")
    def test_a_lost_connection_is_503_and_the_key_good_for_another_try(self) -> None:
        answer = self.post(article="killed")
        self.assertEqual(self.problem(answer), (503, "unavailable"))
        self.assertEqual(answer.headers["Retry-After"], "1")
        self.assertEqual((self.articles(), self.entries()), ([], []))

    async def test_async_views_are_in_the_transaction_too(self) -> None:
        client = AsyncClient(raise_request_exception=False)
        for place in ("/async", "/single/async"):
            for article, status in (("fire", 500), ("sencha", 201), ("sencha", 201)):
                body = {"article": article}
                headers = {"Idempotency-Key": "a"}
                answer = await client.post(place, body, "application/json", headers=headers)
                self.assertEqual(answer.status_code, status)
        self.assertEqual(await Order.objects.acount(), 2)

    @override_settings(MIDDLEWARE=WITHOUT)
    def test_a_single_view_needs_a_key(self) -> None:
        self.assertEqual(self.problem(self.post("/single", key=None)), (400, "missing-key"))
        self.assertEqual(self.twice(place="/single").status_code, 201)
        self.assertEqual(self.twice(place="/single", article="unknown", key="b").status_code, 404)
        self.assertEqual(self.articles(), ["sencha"])

    @override_settings(MIDDLEWARE=WITHOUT)
    def test_rules_of_ones_own_are_a_class(self) -> None:
        for desk in ("7", "8", "8"):
            headers = {"X-Key": "a", "X-Desk": desk}
            body = {"article": "sencha"}
            answer = self.client.put("/desk", body, "application/json", headers=headers)
            self.assertEqual(answer.status_code, 201)
        self.assertEqual({one.caller for one in self.entries()}, {"7", "8"})
        self.assertEqual(self.post("/desk", key=None).status_code, 201)

    def test_other_databases_have_their_atomic_requests(self) -> None:
        self.assertEqual(self.post(article="elsewhere").status_code, 500)
        self.assertEqual(Order.objects.using("other").count(), 0)
