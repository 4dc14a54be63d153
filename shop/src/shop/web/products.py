"""Routes of products and their stock."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from sqlalchemy.orm import Session

from shop.inventory.stock import find_stock, list_stock, receive_stock
from shop.ordering.products import find_product, list_products, put_product
from shop.web.operations import ByOperator, Operator
from shop.web.paging import Limit
from shop.web.problems import documented
from shop.web.shipping_views import (
    ProductPage,
    ProductRequest,
    ProductView,
    Receipt,
    StockPage,
    StockView,
)
from shop.web.views import SKU_PATTERN, seen
from todoke import Todoke

SkuPath = Annotated[str, Path(pattern=SKU_PATTERN, examples=["KYUSU-01"])]
After = Annotated[str | None, Query(pattern=SKU_PATTERN)]


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["products and stock"], responses=documented(422))

    def log(
        session: Session, operation_type: str, operator: Operator, sku: str, **details: object
    ) -> None:
        told = {name: str(value) for name, value in details.items()}
        event = operator.performed(operation_type, f"product-{sku}", told, app.clock.now())
        app.publish(session, event)

    @router.get("/product")
    def list_all(limit: Limit = 50, after: After = None) -> ProductPage:
        with app.session() as session:
            found = [seen(ProductView, one) for one in list_products(session, limit, after)]
        return ProductPage(items=found, next=found[-1].sku if len(found) == limit else None)

    @router.get("/product/{sku}", responses=documented(404))
    def show(sku: SkuPath) -> ProductView:
        with app.session() as session:
            return seen(ProductView, find_product(session, sku))

    @router.put("/product/{sku}")
    def put(sku: SkuPath, request: ProductRequest, operator: ByOperator) -> ProductView:
        """Offer it, or offer it under another name or price; orders keep theirs."""
        with app.session() as session:
            product = put_product(session, sku, request.name, request.unit_price)
            log(session, "PRODUCT_PUT", operator, sku, unitPrice=product.unit_price)
            return seen(ProductView, product)

    @router.get("/stock")
    def list_stocks(limit: Limit = 50, after: After = None) -> StockPage:
        with app.session() as session:
            found = [seen(StockView, one) for one in list_stock(session, limit, after)]
        return StockPage(items=found, next=found[-1].sku if len(found) == limit else None)

    @router.get("/stock/{sku}", responses=documented(404))
    def show_stock(sku: SkuPath) -> StockView:
        with app.session() as session:
            return seen(StockView, find_stock(session, find_product(session, sku).sku))

    @router.post("/stock/{sku}/receive", responses=documented(404))
    def receive(sku: SkuPath, request: Receipt, operator: ByOperator) -> StockView:
        """So many more of it have come in."""
        with app.session() as session:
            found = receive_stock(session, find_product(session, sku).sku, request.quantity)
            log(session, "STOCK_RECEIVE", operator, sku, quantity=request.quantity)
            return seen(StockView, found)

    return router
