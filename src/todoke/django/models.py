"""No table: a name for the admin's section and for the permission to see it."""

from __future__ import annotations

from django.db import models

from todoke.django.words import say_later


class Overview(models.Model):
    """What the permission `todoke.view_overview` is about."""

    class Meta:
        managed = False
        default_permissions = ("view",)
        verbose_name = say_later("overview")
        verbose_name_plural = say_later("overview")
