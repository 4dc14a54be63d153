"""What the broker does instead of answering, for the next requests."""

from threading import Lock
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Deed = Literal[
    "answer",
    "slow",
    "refuse",
    "fail",
    "babble",
    "hang",
    "take-and-hang",
    "die",
    "take-and-die",
]


class Step(BaseModel):
    """One deed, for so many requests; without `times` for all."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)

    do: Deed = "answer"
    times: int | None = Field(default=None, ge=1)
    seconds: float = Field(default=1.0, ge=0, le=600)
    status: int = Field(default=500, ge=300, le=599)
    code: str | None = None
    retry_after: str | None = None


class Script:
    """Steps that are worked off one request at a time; after the last it answers as ever."""

    def __init__(self) -> None:
        self._steps: list[tuple[Step, int | None]] = []
        self._lock = Lock()

    def write(self, steps: list[Step]) -> None:
        with self._lock:
            self._steps = [(step, step.times) for step in steps]

    def next(self) -> Step:
        with self._lock:
            if not self._steps:
                return Step()
            step, left = self._steps.pop(0)
            if left is None or left > 1:
                self._steps.insert(0, (step, None if left is None else left - 1))
            return step
