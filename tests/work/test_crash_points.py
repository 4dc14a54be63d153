"""What is left when a process dies at a named point; the rest of the points are in tests/proof."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.application import Placed, leases, letters, living, publish, statuses
from tests.dying import death_at
from todoke import PermanentError, Todoke, crash
from todoke.errors import InvalidOption
from todoke.runtime import Runtime
from todoke.testing import Clock
from todoke.work.slots import InlineSlots

SOURCE = Path(crash.__file__).parent


@pytest.mark.parametrize("point", ["publish.before_insert", "publish.after_insert"])
def test_death_while_publishing_leaves_nothing(app: Todoke, point: str) -> None:
    """OB-1"""
    with death_at(point):
        publish(app, Placed(order_id=1))
    assert living(app) == []


def test_death_while_redriving_changes_nothing(app: Todoke) -> None:
    """ER-4"""

    @app.on(Placed)
    def refuse(event: Placed) -> None:
        raise PermanentError("no")

    publish(app, Placed(order_id=1))
    app.drain()
    with death_at("redrive.before_commit"), app.session() as session:
        app.dead_letters.redrive(session, app.dead_letters.where(), by="mika", reason="again")
    assert (len(letters(app)), living(app)) == (1, [])


def test_death_before_handing_back_is_rescued_like_any_other(app: Todoke, clock: Clock) -> None:
    """OB-7"""
    seen: list[int] = []

    @app.on(Placed)
    def note(event: Placed) -> None:
        seen.append(event.order_id)

    publish(app, Placed(order_id=1))
    runtime = Runtime(app, leases=leases(app))
    worker = runtime.worker(InlineSlots(runtime.performer, app.event_loop))
    with app.engine.connect() as connection:
        runtime.membership.join(connection)
        app.claims[0].take(connection, runtime.membership.id, "default", 1)  # type: ignore[arg-type]
        with death_at("shutdown.before_hand_back"):
            worker.hand_back(connection)
    clock.advance("16s")
    app.drain()
    assert (seen, statuses(app)) == ([1], [("PROCESSED", 1)])


def test_every_named_point_stands_in_the_code_and_every_point_is_named() -> None:
    """A point that was renamed would let its tests pass for ever."""
    found = {
        call.args[0].value
        for file in SOURCE.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) == "crash.point"
        and isinstance(call.args[0], ast.Constant)
    }
    assert found == set(crash.POINTS)


@pytest.mark.parametrize("wish", ["claim.nowhere", "claim.after_commit:often"])
def test_a_point_that_does_not_exist_is_refused(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt point would never be passed."""
    monkeypatch.setenv("TODOKE_CRASH", wish)
    with pytest.raises(InvalidOption, match="TODOKE_CRASH"):
        crash.arm_from_environment()


def test_an_application_may_name_points_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """TS-2: and only such as can be told from todoke's."""
    monkeypatch.setattr(crash, "_declared", [])
    crash.declare("parcel.after_wrapping", "parcel.after_wrapping")
    assert crash.points() == (*crash.POINTS, "parcel.after_wrapping")
    monkeypatch.setenv("TODOKE_CRASH", "parcel.after_wrapping:9")
    crash.arm_from_environment()
    assert crash.arm(None) is not None


@pytest.mark.parametrize(
    "name", ["", "parcel", "Parcel.after_x", "parcel.wrapped", "claim.after_commit"]
)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    """TS-2"""
    with pytest.raises(InvalidOption, match=r"crash\.declare"):
        crash.declare(name)
