"""What the shop keeps."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """Placed by a customer, reserved by the worker."""

    article: models.CharField[str, str] = models.CharField(max_length=100)
    status: models.CharField[str, str] = models.CharField(max_length=20, default="placed")
