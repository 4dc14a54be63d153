"""`manage.py todoke …`: the whole command line, with the project's application at hand."""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Sequence

from django.core.management.base import BaseCommand

from todoke.cli import run
from todoke.django.project import application


class Command(BaseCommand):
    """Look at todoke, run its workers, act on dead letters."""

    help = __doc__ or ""

    def run_from_argv(self, argv: Sequence[str]) -> None:
        """Everything behind the name is ours, but for what Django has heeded already."""
        parser = ArgumentParser(add_help=False, allow_abbrev=False)
        parser.add_argument("--settings")
        parser.add_argument("--pythonpath")
        self.handle(arguments=parser.parse_known_args(argv[2:])[1])

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("arguments", nargs=REMAINDER)

    def handle(self, *_positional: str, arguments: Sequence[str], **_options: object) -> None:
        # Worker processes find the project's modules where manage.py has found them.
        known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[0], *known]))
        run(arguments, application(), program="manage.py todoke", named="todoke.django:app")
