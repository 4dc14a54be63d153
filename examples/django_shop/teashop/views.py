"""Orders over HTTP."""

import json

from django.db import connection, transaction
from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET, require_POST

from teashop.events import OrderPlaced, app
from teashop.models import Order


@require_POST
def place(request: HttpRequest) -> JsonResponse:
    with transaction.atomic():  # the order and its event: both or neither
        order = Order.objects.create(article=json.loads(request.body)["article"])
        app.publish(connection, OrderPlaced(order_id=order.pk))
    return _told(order, 201)


@require_GET
def show(request: HttpRequest, order_id: int) -> JsonResponse:
    return _told(get_object_or_404(Order, pk=order_id), 200)


def _told(order: Order, status: int) -> JsonResponse:
    data = {"id": order.pk, "article": order.article, "status": order.status}
    return JsonResponse(data, status=status)
