"""Orders."""

from typing import Any, ClassVar

from django.db import migrations, models

ID: Any = models.BigAutoField(
    auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
)


class Migration(migrations.Migration):
    initial = True
    operations: ClassVar = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", ID),
                ("article", models.CharField(max_length=100)),
                ("status", models.CharField(default="placed", max_length=20)),
            ],
        )
    ]
