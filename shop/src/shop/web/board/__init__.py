"""The job board: a page for people on call. It reads, and changes nothing."""

from shop.web.board.routes import routes

__all__ = ["routes"]
