"""Routes of products and their stock."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from sqlalchemy.orm import Session

from shop.inventory.stock import find_stock, list_stock, receive_stock
from shop.ordering.products import find_product, list_products, put_product
from shop.web.documented import UNREADABLE, documented
from shop.web.operations import ByOperator, Operator
from shop.web.paging import Limit
from shop.web.shipping_views import (
    ProductPage,
    ProductRequest,
    ProductView,
    ReceivedStock,
    StockPage,
    StockView,
)
from shop.web.views import SKU_PATTERN, seen
from todoke import Todoke
from todoke.fastapi import StrictRoute

SkuPath = Annotated[str, Path(pattern=SKU_PATTERN, examples=["KYUSU-01"])]
After = Annotated[str | None, Query(pattern=SKU_PATTERN)]


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(
        prefix="/api",
        tags=["products and stock"],
        route_class=StrictRoute,
        responses=documented("INVALID_REQUEST"),
    )

    def log(
        session: Session, operation_type: str, operator: Operator, sku: str, **details: object
    ) -> None:
        told = {name: str(value) for name, value in details.items()}
        event = operator.performed(operation_type, f"product-{sku}", told, app.clock.now())
        app.publish(session, event)

    @router.get("/product", summary="List products")
    def list_all(limit: Limit = 50, after: After = None) -> ProductPage:
        """What is sold, by number."""
        with app.session() as session:
            found = [seen(ProductView, one) for one in list_products(session, limit, after)]
        return ProductPage(items=found, next=found[-1].sku if len(found) == limit else None)

    @router.get(
        "/product/{sku}", summary="Show a product", responses=documented("PRODUCT_NOT_FOUND")
    )
    def show(sku: SkuPath) -> ProductView:
        """Its name, and its price in yen."""
        with app.session() as session:
            return seen(ProductView, find_product(session, sku))

    @router.put("/product/{sku}", summary="Offer a product", responses=documented(*UNREADABLE))
    def put(sku: SkuPath, request: ProductRequest, operator: ByOperator) -> ProductView:
        """Or offer it under another name or price; orders keep theirs."""
        with app.session() as session:
            product = put_product(session, sku, request.name, request.unit_price)
            log(session, "PRODUCT_PUT", operator, sku, unitPrice=product.unit_price)
            return seen(ProductView, product)

    @router.get("/stock", summary="List stock")
    def list_stocks(limit: Limit = 50, after: After = None) -> StockPage:
        """Of all products that ever came in, by number."""
        with app.session() as session:
            found = [seen(StockView, one) for one in list_stock(session, limit, after)]
        return StockPage(items=found, next=found[-1].sku if len(found) == limit else None)

    @router.get(
        "/stock/{sku}", summary="Show a product's stock", responses=documented("PRODUCT_NOT_FOUND")
    )
    def show_stock(sku: SkuPath) -> StockView:
        """Of a product that never came in there is nothing."""
        with app.session() as session:
            return seen(StockView, find_stock(session, find_product(session, sku).sku))

    @router.post(
        "/stock/{sku}/receive",
        summary="Receive stock",
        responses=documented("PRODUCT_NOT_FOUND", "TOO_MUCH_STOCK", *UNREADABLE),
    )
    def receive(sku: SkuPath, request: ReceivedStock, operator: ByOperator) -> StockView:
        """So many more of it have come in."""
        with app.session() as session:
            found = receive_stock(session, find_product(session, sku).sku, request.quantity)
            log(session, "STOCK_RECEIVE", operator, sku, quantity=request.quantity)
            return seen(StockView, found)

    return router
