"""The tables as of revision 0006: the ledger."""

from typing import ClassVar

from django.db import migrations

from todoke.django.operations import Upgrade


class Migration(migrations.Migration):
    # Our own revisions run on a connection of their own.
    atomic = False
    dependencies: ClassVar = [("todoke", "0001_tables")]
    operations: ClassVar = [Upgrade("0006")]
