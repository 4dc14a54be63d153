"""What `manage.py test` runs inside the tea shop (`tests/web/test_django.py` copies it there)."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connection, transaction
from django.test import AsyncClient, TestCase, TransactionTestCase, override_settings

from teashop.events import OrderPlaced, app
from teashop.models import Order
from todoke import Attempt, Event, Key, Outcome, PermanentError, Personal
from todoke.databases.schema import REVISION
from todoke.types import CallNext

seen: list[str] = []


class Noted(Event):
    note_id: Key[int]


class Refused(Event):
    note_id: Key[int]
    mail: Personal[str] = "mika@example.com"


@app.on(Noted)
async def note(event: Noted) -> None:
    order = await Order.objects.acreate(article="noted")
    seen.append(order.article)


@app.on(Refused)
def refuse(event: Refused) -> None:
    raise PermanentError("<b>no</b>", code="NO")


@app.middleware
async def pass_on(attempt: Attempt, call_next: CallNext) -> Outcome:
    return await call_next(attempt)


def publish(*events: Event) -> None:
    with transaction.atomic():
        for event in events:
            app.publish(connection, event)


def statuses() -> list[str]:
    with app.session() as session:
        return [one.status for one in app.events.list(session)]


class RolledBack(TestCase):
    """Runs before the others, which look for what it left."""

    def test_a_test_case_publishes(self) -> None:
        publish(OrderPlaced(order_id=1))


class Committed(TransactionTestCase):
    def setUp(self) -> None:
        self.assertEqual(statuses(), [], "the test before left something")

    def test_handlers_use_the_orm_inside_middleware(self) -> None:
        order = Order.objects.create(article="sencha")
        publish(OrderPlaced(order_id=order.pk))
        app.drain()
        order.refresh_from_db()
        self.assertEqual((order.status, statuses()), ("reserved", ["PROCESSED"]))

    def test_async_handlers_use_the_orm(self) -> None:
        publish(Noted(note_id=1))
        app.drain()
        self.assertEqual(statuses(), ["PROCESSED"])
        self.assertEqual(Order.objects.get().article, "noted")

    def test_a_rollback_takes_the_event_along(self) -> None:
        with self.assertRaises(RuntimeError), transaction.atomic():
            app.publish(connection, OrderPlaced(order_id=1))
            raise RuntimeError
        self.assertEqual(statuses(), [])

    def test_dead_letters_are_flushed_too(self) -> None:
        publish(Refused(note_id=1))
        app.drain()
        call_command("flush", interactive=False)
        self.assertEqual(statuses(), [])

    async def test_an_async_view_publishes(self) -> None:
        answer = await AsyncClient().post("/orders", {"article": "a"}, "application/json")
        self.assertEqual(answer.status_code, 201)


class Admin(TransactionTestCase):
    def setUp(self) -> None:
        self.chief = User.objects.create_superuser("chief")
        self.client.force_login(self.chief)

    def page(self, path: str = "", **headers: str) -> str:
        answer = self.client.get(f"/admin/todoke/overview/{path}", headers=headers)
        self.assertEqual(answer.status_code, 200)
        return answer.content.decode()

    def letter(self) -> UUID:
        publish(Refused(note_id=1))
        app.drain()
        with app.session() as session:
            return app.dead_letters.list(session).items[0].id

    def test_the_index_has_a_section(self) -> None:
        index = self.client.get("/admin/").content.decode()
        self.assertIn("/admin/todoke/overview/", index)

    def test_the_page_tells_what_waits_who_works_and_what_died(self) -> None:
        letter = self.letter()
        publish(OrderPlaced(order_id=1))
        page = self.page()
        self.assertInHTML("<th scope='row'>pending</th>", page)
        self.assertIn("no worker is running", page)
        self.assertIn(f"/admin/todoke/overview/dead-letters/{letter}/", page)
        self.assertIn("&lt;b&gt;no&lt;/b&gt;", page)
        self.assertNotIn("<b>no", page)

    def test_a_dead_letter_is_told_with_personal_fields_hidden(self) -> None:
        letter = self.letter()
        page = self.page(f"dead-letters/{letter}/")
        self.assertIn("NO", page)
        self.assertIn("Traceback", page)
        self.assertNotIn("mika@example.com", page)
        with app.session() as session:
            self.assertIsNone(app.dead_letters.list(session).items[0].seen_at)

    def test_a_dead_letter_that_is_not_there(self) -> None:
        path = "/admin/todoke/overview/dead-letters/00000000-0000-0000-0000-000000000000/"
        self.assertEqual(self.client.get(path).status_code, 404)

    def test_who_may_not_see_it_does_not(self) -> None:
        clerk = User.objects.create_user("clerk", is_staff=True)
        letter = self.letter()
        self.client.force_login(clerk)
        for path in ("", f"dead-letters/{letter}/"):
            answer = self.client.get(f"/admin/todoke/overview/{path}")
            self.assertEqual(answer.status_code, 403)
        clerk.user_permissions.add(Permission.objects.get(codename="view_overview"))
        self.page()

    @override_settings(LANGUAGE_CODE="ja")
    def test_it_speaks_japanese(self) -> None:
        page = self.page(f"dead-letters/{self.letter()}/")
        self.assertIn("エラー分類", page)
        self.assertIn("デッドレター", self.page())

    def test_it_links_to_the_console_where_there_is_one(self) -> None:
        with override_settings(TODOKE={"app": "teashop.events:app", "console_url": "https://c/"}):
            self.assertIn('href="https://c/"', self.page())
        self.assertNotIn("https://c/", self.page())

    def test_it_says_what_is_wrong_with_the_tables(self) -> None:
        with app.engine.begin() as raw:
            version = app.database.version_table
            schema = f"{app.database.schema}." if app.database.schema else ""
            raw.exec_driver_sql(f"UPDATE {schema}{version} SET version_num = '0001'")
        try:
            self.assertIn("are at revision 0001", self.page())
        finally:
            with app.engine.begin() as raw:
                raw.exec_driver_sql(f"UPDATE {schema}{version} SET version_num = '{REVISION}'")
