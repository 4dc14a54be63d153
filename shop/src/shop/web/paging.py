from typing import Annotated

from fastapi import Path, Query

LARGEST_ID = 2**63 - 1

Limit = Annotated[int, Query(ge=1, le=200)]
Before = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]
OrderId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
FileId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
