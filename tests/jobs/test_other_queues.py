"""A job may be enqueued to another queue than its own; who serves that queue runs it."""

from __future__ import annotations

from tests.application import application


def test_a_worker_runs_what_was_enqueued_to_its_queue_and_leaves_the_rest(
    migrated_url: str,
) -> None:
    """JB-9: though it does not serve the queue that the job itself names"""
    with application(migrated_url, settings={"worker.queues.files": 1}) as app:
        done = []

        @app.job()
        def export(number: int) -> None:
            done.append(number)

        with app.session() as session:
            export.enqueue(session, 1)
            moved = export.enqueue(session, 2, queue="files")
        app.drain()
        assert done == [2]
        with app.session() as session:
            assert app.jobs.get(session, moved).status == "PROCESSED"
