"""The tables as of revision 0005, and what the admin shows."""

from typing import ClassVar

from django.db import migrations, models

from todoke.django.operations import Upgrade


class Migration(migrations.Migration):
    initial = True
    # Our own revisions run on a connection of their own.
    atomic = False
    operations: ClassVar = [
        Upgrade("0005"),
        migrations.CreateModel(
            name="Overview",
            fields=[("id", models.BigAutoField(primary_key=True))],
            options={
                "verbose_name": "overview",
                "verbose_name_plural": "overview",
                "managed": False,
                "default_permissions": ("view",),
            },
        ),
    ]
