"""The shop's HTTP API."""

from fastapi import FastAPI

from shop.web import board, brokerage, operations, orders, products, shipments
from shop.web.documented import Described
from shop.web.limits import BodyLimit
from shop.web.problems import install_problems
from todoke import Todoke
from todoke.fastapi import install


def create_web(app: Todoke) -> FastAPI:
    """The API over this application: it publishes and never runs handlers."""
    web = Described(title="shop", summary="Place, confirm, ship and follow orders.")
    web.add_middleware(BodyLimit)
    install_problems(web)
    install(web, app)
    web.include_router(orders.routes(app))
    web.include_router(products.routes(app))
    web.include_router(shipments.routes(app))
    web.include_router(brokerage.routes(app))
    web.include_router(operations.routes(app))
    web.include_router(board.routes(app))
    return web
