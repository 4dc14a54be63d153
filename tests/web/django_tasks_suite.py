"""What `manage.py test` runs inside the tea shop (`tests/web/test_django_tasks.py` copies it)."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.core.checks import Error
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django.tasks import TaskContext, TaskResult, TaskResultStatus, task, task_backends
from django.tasks.exceptions import (
    InvalidTask,
    InvalidTaskBackend,
    TaskResultDoesNotExist,
    TaskResultMismatch,
)
from django.tasks.signals import task_enqueued, task_finished, task_started
from django.test import TransactionTestCase, override_settings
from django.utils import timezone
from sqlalchemy import delete, make_url

from teashop.events import app
from teashop.models import Order
from todoke.django.tasks.call import TaskCall
from todoke.django.tasks.perform import job_of
from todoke.testing import Harness

READY, RUNNING = TaskResultStatus.READY, TaskResultStatus.RUNNING
SUCCESSFUL, FAILED = TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED

called: list[Any] = []


class Odd(Exception):
    pass


@task
def add(one: int, other: int = 0) -> int:
    called.append(one)
    return one + other


@task
def place(article: str) -> int:
    order = Order.objects.create(article=article)
    return int(order.pk)


@task
async def place_async(article: str) -> int:
    order = await Order.objects.acreate(article=article)
    return int(order.pk)


@task
def fail(message: str) -> None:
    called.append(message)
    raise Odd(message)


@task(takes_context=True)
def succeed_at_last(context: TaskContext[Any, Any]) -> list[Any]:
    called.append(context.attempt)
    if context.attempt < 3:
        raise Odd("again")
    result = add.get_backend().get_result(context.task_result.id)
    return [result.status, result.attempts, len(context.task_result.errors)]


@task
def answer_an_object() -> object:
    called.append("object")
    return object()


@task(backend="off")
def rest() -> None: ...


def under_another_name() -> None: ...


class Tasks(TransactionTestCase):
    def setUp(self) -> None:
        called.clear()

    def drained(self, result: TaskResult[Any, Any]) -> TaskResult[Any, Any]:
        app.drain()
        result.refresh()
        return result

    def test_a_task_runs_later_and_its_result_is_found_anywhere(self) -> None:
        result = add.enqueue(1, other=2)
        self.assertEqual((result.status, result.args, result.kwargs), (READY, [1], {"other": 2}))
        self.assertEqual(add.get_result(result.id).status, READY)
        app.drain()
        found = add.get_result(result.id)
        self.assertEqual((found.status, found.return_value), (SUCCESSFUL, 3))
        self.assertEqual((found.attempts, found.errors), (1, []))
        self.assertEqual((found.args, found.kwargs), ([1], {"other": 2}))
        for moment in (found.enqueued_at, found.started_at, found.finished_at):
            assert moment is not None
            self.assertLess(abs(timezone.now() - moment), timedelta(minutes=1))

    def test_a_task_is_enqueued_with_the_transaction_around_it(self) -> None:
        with self.assertRaises(Odd), transaction.atomic():
            lost = place.enqueue("sencha")
            raise Odd
        with self.assertRaises(TaskResultDoesNotExist):
            lost.refresh()
        with transaction.atomic():
            Order.objects.create(article="matcha")
            kept = place.enqueue("gyokuro")
        with transaction.atomic(), self.assertRaises(Odd), transaction.atomic():
            place.enqueue("undone with its savepoint")
            raise Odd
        self.assertEqual(self.drained(kept).status, SUCCESSFUL)
        self.assertEqual(
            list(Order.objects.order_by("pk").values_list("article", flat=True)),
            ["matcha", "gyokuro"],
        )

    def test_without_a_transaction_it_has_one_of_its_own(self) -> None:
        self.assertFalse(connection.in_atomic_block)
        result = add.enqueue(1)
        self.assertFalse(connection.in_atomic_block)
        self.assertEqual(add.get_result(result.id).status, READY)

    def test_a_higher_priority_goes_first(self) -> None:
        for priority in (0, 100, -100, 7):
            add.using(priority=priority).enqueue(priority)
        app.drain()
        self.assertEqual(called, [100, 7, 0, -100])

    def test_a_task_waits_for_its_time(self) -> None:
        with Harness(app) as todoke:
            moment = todoke.clock.now() + timedelta(hours=8)
            result = add.using(run_after=moment).enqueue(1)
            todoke.travel("7h")
            self.assertEqual(called, [])
            todoke.travel("1h")
            self.assertEqual(called, [1])
            self.assertEqual(add.get_result(result.id).started_at, moment)

    def test_a_queue_is_a_queue(self) -> None:
        result = add.using(queue_name="emails", priority=5).enqueue(1)
        with app.session() as session:
            (record,) = app.jobs.list(session)
        self.assertEqual((record.job, record.queue), ("django-task", "emails"))
        found = self.drained(result)
        self.assertEqual((found.task.queue_name, found.task.priority), ("emails", 5))
        self.assertEqual(found.status, SUCCESSFUL)

    def test_a_task_that_fails_is_tried_again_and_then_given_up(self) -> None:
        with Harness(app) as todoke:
            result = fail.enqueue("no <tea>")
            todoke.drain()
            result.refresh()
            self.assertEqual((result.status, result.attempts), (READY, 1))
            self.assertIsNone(result.finished_at)
            todoke.travel("2h")
            result.refresh()
            self.assertEqual((result.status, result.attempts), (FAILED, 3))
            self.assertEqual(len(result.errors), 3)
            self.assertIsNotNone(result.finished_at)
            last = result.errors[-1]
            self.assertIs(last.exception_class, Odd)
            self.assertTrue(last.traceback.endswith("Odd: no <tea>\n"), last.traceback)
            self.assertEqual(len(set(result.worker_ids)), 1)
            with self.assertRaisesMessage(ValueError, "failed"):
                _ = result.return_value
            self.assertEqual([one.name for one in todoke.dead_letters()], ["django-task"])

    def test_a_task_is_told_which_attempt_it_is(self) -> None:
        with Harness(app) as todoke:
            result = succeed_at_last.enqueue()
            todoke.travel("2h")
            result.refresh()
            self.assertEqual(result.return_value, ["RUNNING", 3, 2])
            self.assertEqual((result.attempts, called), (3, [1, 2, 3]))

    def test_async_tasks_use_the_orm(self) -> None:
        result = self.drained(place_async.enqueue("sencha"))
        self.assertEqual(Order.objects.get().pk, result.return_value)

    async def test_async_code_enqueues_and_looks(self) -> None:
        result = await place_async.aenqueue("sencha")
        await app.adrain()
        found = await place_async.aget_result(result.id)
        self.assertEqual((await Order.objects.aget()).pk, found.return_value)
        await result.arefresh()
        self.assertEqual(result.status, SUCCESSFUL)

    def test_what_a_task_answers_must_be_json(self) -> None:
        result = self.drained(answer_an_object.enqueue())
        self.assertEqual((result.status, called), (FAILED, ["object"]))
        self.assertIn("answered a object, which is no JSON", result.errors[0].traceback)
        with app.session() as session:
            self.assertEqual(app.dead_letters.list(session).items[0].code, "RESULT_NOT_JSON")

    def test_what_a_task_is_called_with_must_be_json(self) -> None:
        with self.assertRaises(TypeError):
            add.enqueue(object())  # type: ignore[arg-type]
        with app.session() as session:
            self.assertEqual(list(app.jobs.list(session)), [])

    def test_signals_are_sent_on_both_sides(self) -> None:
        told: list[tuple[str, str]] = []

        def note(name: str) -> Any:
            def receive(task_result: TaskResult[Any, Any], **_: Any) -> None:
                told.append((name, task_result.status))

            return receive

        receivers = [
            (task_enqueued, note("enqueued")),
            (task_started, note("started")),
            (task_finished, note("finished")),
        ]
        for signal, receiver in receivers:
            signal.connect(receiver)
            self.addCleanup(signal.disconnect, receiver)
        with Harness(app) as todoke:
            add.enqueue(1)
            todoke.drain()
            self.assertEqual(
                told, [("enqueued", READY), ("started", RUNNING), ("finished", SUCCESSFUL)]
            )
            told.clear()
            fail.enqueue("no")
            todoke.travel("2h")
        started = ("started", RUNNING)
        self.assertEqual(told, [("enqueued", READY), *[started] * 3, ("finished", FAILED)])

    def test_a_receiver_that_fails_does_not_repeat_the_task(self) -> None:
        def receive(**_: Any) -> None:
            raise Odd

        task_finished.connect(receive)
        self.addCleanup(task_finished.disconnect, receive)
        with self.assertLogs("django.dispatch", "ERROR"):
            result = self.drained(add.enqueue(1))
        self.assertEqual((result.status, result.attempts), (SUCCESSFUL, 1))


class Looking(TransactionTestCase):
    def test_a_result_that_is_not_there_is_said_so(self) -> None:
        for id in ("", "nothing", str(uuid4())):
            with self.assertRaises(TaskResultDoesNotExist):
                add.get_result(id)

    def test_a_result_of_another_backend_is_not_there(self) -> None:
        result = rest.enqueue()
        with self.assertRaises(TaskResultDoesNotExist):
            add.get_result(result.id)

    def test_a_result_of_another_task_is_told(self) -> None:
        with self.assertRaises(TaskResultMismatch):
            fail.get_result(add.enqueue(1).id)

    def test_a_result_that_is_no_longer_kept_is_not_there(self) -> None:
        result = add.enqueue(1)
        app.drain()
        with app.engine.begin() as engine:
            engine.execute(delete(app.job_room.tables.runs))
        with self.assertRaisesMessage(TaskResultDoesNotExist, "not kept"):
            result.refresh()

    def test_a_cancelled_task_has_failed(self) -> None:
        result = add.enqueue(1)
        with app.session() as session:
            (record,) = app.jobs.list(session)
            app.jobs.cancel(session, record.id, by="mika", reason="not needed")
        result.refresh()
        self.assertEqual((result.status, result.attempts), (FAILED, 0))
        self.assertEqual(result.errors[0].exception_class.__name__, "Cancelled")

    def test_a_task_that_is_switched_off_has_failed(self) -> None:
        result = rest.enqueue()
        app.drain()
        result.refresh()
        self.assertEqual(result.status, FAILED)
        self.assertIn("jobs.enabled.django-task-off is off", result.errors[0].traceback)


class Refusals(TransactionTestCase):
    def enqueue_path(self, path: str) -> str:
        job = job_of(app, "default", {})
        with transaction.atomic():
            return str(job.enqueue(connection, TaskCall(path=path)).id)

    def test_a_task_that_is_not_there_is_waited_for_and_then_given_up(self) -> None:
        with Harness(app) as todoke:
            self.enqueue_path("teashop.views.not_yet")
            for passed in ("0s", "50s"):
                todoke.clock.advance(passed)
                todoke.drain()
                self.assertEqual(todoke.dead_letters(), [])
            todoke.clock.advance("20s")
            todoke.drain()
            self.assertEqual([one.code for one in todoke.dead_letters()], ["TASK_NOT_FOUND"])

    def test_a_row_can_name_only_a_task_of_the_project(self) -> None:
        with Harness(app) as todoke:
            for path in ("this.s", "os.getcwd", "teashop.models.Order", "teashop.nowhere.task"):
                self.enqueue_path(path)
            todoke.clock.advance("2m")
            todoke.drain()
            self.assertEqual(len(todoke.dead_letters()), 4)
            self.assertNotIn("this", sys.modules)

    def test_what_a_worker_could_not_find_is_not_enqueued(self) -> None:
        with self.assertRaisesMessage(InvalidTask, "is no task"):
            task(under_another_name).enqueue()
        with self.assertRaisesMessage(InvalidTask, "module level"):

            @task
            def inside() -> None: ...

        with self.assertRaisesMessage(InvalidTask, "Queue 'files'"):
            add.using(queue_name="files")
        with self.assertRaisesMessage(InvalidTask, "priority"):
            add.using(priority=101)

    @override_settings(
        TASKS={
            "default": {
                "BACKEND": "todoke.django.tasks.TodokeBackend",
                "OPTIONS": {"retries": 3},
            }
        }
    )
    def test_an_unknown_option_is_refused(self) -> None:
        with self.assertRaisesMessage(InvalidTaskBackend, "has retries, which todoke does not"):
            _ = task_backends["default"]

    def test_an_application_elsewhere_is_told_of(self) -> None:
        backend = task_backends["default"]
        self.assertEqual(backend.check(), [])
        self.addCleanup(setattr, app, "address", app.address)
        app.address = lambda: make_url("postgresql://nobody@127.0.0.1:1/nothing")
        (found,) = backend.check()
        self.assertEqual((type(found), found.id), (Error, "todoke.E001"))
        with self.assertRaisesMessage(ImproperlyConfigured, "Write app = Todoke(connection)"):
            add.enqueue(1)
