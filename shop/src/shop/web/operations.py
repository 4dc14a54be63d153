"""Telling the operation log what a request did, and reading the log."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request

from shop.audit.history import latest_operations
from shop.audit.messages import OperationPerformed
from shop.web.documented import documented
from shop.web.paging import Before, Limit
from shop.web.views import OperationPage, OperationView
from todoke import Todoke

ANONYMOUS = "anonymous"


@dataclass(frozen=True)
class Operator:
    """Who asks, and where."""

    name: str
    path: str

    def performed(
        self, operation_type: str, subject: str, details: dict[str, str], at: datetime
    ) -> OperationPerformed:
        return OperationPerformed(
            subject=subject,
            operation_type=operation_type,
            performed_by=self.name,
            request_path=self.path,
            details=details,
            performed_at=at,
        )


def _operator(
    request: Request,
    x_operator: Annotated[
        str,
        Header(
            max_length=100,
            pattern=r"^[!-~]([ -~]*[!-~])?$",
            description="Who asks, for the operation log.",
        ),
    ] = ANONYMOUS,
) -> Operator:
    return Operator(x_operator, request.url.path[:500])


ByOperator = Annotated[Operator, Depends(_operator)]


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(
        prefix="/api/operation", tags=["operations"], responses=documented("INVALID_REQUEST")
    )

    @router.get("", summary="List operations")
    def list_operations(limit: Limit = 50, before: Before = None) -> OperationPage:
        """Who changed what, newest first; each appears shortly after its commit."""
        with app.session() as session:
            found = [OperationView.of(one) for one in latest_operations(session, limit, before)]
        return OperationPage(items=found, next=found[-1].id if len(found) == limit else None)

    return router
