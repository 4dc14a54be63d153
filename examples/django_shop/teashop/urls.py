"""Where things are."""

from django.contrib import admin
from django.urls import path

from teashop import views

urlpatterns = [
    path("admin/", admin.site.urls),
    path("orders", views.place),
    path("orders/<int:order_id>", views.show),
]
