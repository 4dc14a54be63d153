"""A backend for Django's tasks (Django 6): a task is a job, enqueued in the caller's transaction.

`TASKS = {"default": {"BACKEND": "todoke.django.tasks.TodokeBackend"}}`; `manage.py todoke worker`
runs them. All tasks of one backend are jobs of one name; which task it is stands in the argument.
"""

from todoke.django.tasks.backend import TodokeBackend

__all__ = ["TodokeBackend"]
