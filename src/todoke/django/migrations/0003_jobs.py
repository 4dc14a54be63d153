"""The tables as of revision 0008: jobs."""

from typing import ClassVar

from django.db import migrations

from todoke.django.operations import Upgrade


class Migration(migrations.Migration):
    # Our own revisions run on a connection of their own.
    atomic = False
    dependencies: ClassVar = [("todoke", "0002_ledger")]
    operations: ClassVar = [Upgrade("0008")]
