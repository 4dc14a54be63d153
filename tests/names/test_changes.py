"""Which changes of a name break what was deployed before, and what is said about them."""

from __future__ import annotations

from typing import Any

import pytest

from todoke.names.change import accepted, changes
from todoke.names.declared import EventName, HandlerName, Names

EVENT: dict[str, Any] = {
    "version": 2,
    "key": "order_id",
    "aggregate": "order",
    "ordered": True,
    "fields": {
        "order_id": "integer",
        "note": "string (optional)",
        "items": "[object]",
        "items[].article": "string",
    },
}
HANDLER: dict[str, Any] = {"context": "shop", "queue": "default", "events": ["shop/placed"]}


JOB: dict[str, Any] = {
    "context": "shop",
    "queue": "default",
    "aliases": ["send"],
    "argument": "object",
    "fields": {"day": "string date", "carrier": "string (optional)"},
}


def names(events: Any = None, handlers: Any = None, jobs: Any = None) -> Names:
    told = {"events": events or {}, "handlers": handlers or {}, "jobs": jobs or {}}
    return Names.model_validate(told)


def job(name: str = "export", **other: Any) -> Names:
    return names(jobs={name: {**JOB, **other}})


def argument(**other: str | None) -> Names:
    """The job with these fields in its argument; None takes one away."""
    merged = {**JOB["fields"], **other}
    return job(fields={name: kind for name, kind in merged.items() if kind is not None})


def event(**other: Any) -> Names:
    return names({"shop/placed": {**EVENT, **other}})


def fields(**other: str | None) -> Names:
    """The event with these fields; None takes one away."""
    merged = {**EVENT["fields"], **other}
    return event(fields={name: kind for name, kind in merged.items() if kind is not None})


BREAKING = [
    (fields(note=None), "v2 dropped `note`"),
    (fields(total="integer"), "v2 requires `total`, which was not there"),
    (fields(order_id="string"), "v2 changed `order_id` from integer to string"),
    (fields(note="string"), "v2 requires `note`, which was optional"),
    (fields(**{"items[].article": None}), "v2 dropped `items[].article`"),
    (fields(**{"items[].count": "integer"}), "v2 requires `items[].count`"),
    (event(key=None), "v2 is ordered by no key, was by `order_id`"),
    (event(key="note"), "v2 is ordered by `note`, was by `order_id`"),
    (event(aggregate="basket"), "v2 belongs to `basket`, did to `order`"),
    (event(ordered=False), "v2 keeps no order, and did"),
    (event(version=1), "has version 1, recorded is 2"),
    (names(), "is not declared any more, but rows and other programs may still have it"),
]


@pytest.mark.parametrize(("now", "told"), BREAKING, ids=[told for _, told in BREAKING])
def test_a_change_that_breaks_readers_is_told_with_its_remedy(now: Names, told: str) -> None:
    """MS-4"""
    (change,) = changes(event(), now)
    assert change.breaks
    assert told in change.what
    assert "todoke check --write --forget shop/placed" in change.remedy


@pytest.mark.parametrize(("now", "told"), BREAKING, ids=[told for _, told in BREAKING])
def test_a_breaking_change_is_not_recorded_unless_it_is_to_be_forgotten(
    now: Names, told: str
) -> None:
    """MS-4"""
    assert accepted(event(), now, forget=set()) == event()
    assert accepted(event(), now, forget={"shop/placed"}) == now


@pytest.mark.parametrize(
    "now",
    [
        fields(mail="string (optional)"),
        fields(order_id="integer (optional)"),
        fields(**{"items[].count": "integer (optional)"}),
        fields(gift="object (optional)", **{"gift.article": "string"}),
        event(version=3),
        event(version=3, key=None, fields={"other": "string"}),
    ],
    ids=["optional field", "now optional", "inner optional", "optional object", "version", "all"],
)
def test_a_change_that_breaks_nothing_is_only_to_be_recorded(now: Names) -> None:
    """MS-4: more fields that may be missing, or a higher version"""
    (change,) = changes(event(), now)
    assert not change.breaks
    assert change.remedy == "Run `todoke check --write` and commit the file."
    assert accepted(event(), now, forget=set()) == now


def test_a_dropped_object_is_told_once() -> None:
    """MS-4: not with each of its fields"""
    (change,) = changes(event(), fields(items=None, **{"items[].article": None}))
    assert change.what == "v2 dropped `items`"


def test_names_that_are_as_recorded_are_not_told() -> None:
    """api 1.8"""
    both = names({"shop/placed": EVENT}, {"mail": HANDLER}, {"export": JOB})
    assert list(changes(both, both)) == []


def test_a_lost_handler_is_told_with_the_name_to_give_back() -> None:
    """api 1.8"""
    (change,) = changes(names(None, {"mail": HANDLER}), names())
    assert (change.kind, change.name, change.breaks) == ("handler", "mail", True)
    assert 'name="mail"' in change.remedy


def test_a_renamed_handler_is_lost_and_new() -> None:
    """api 1.8"""
    told = list(changes(names(None, {"mail": HANDLER}), names(None, {"post": HANDLER})))
    assert [(one.name, one.breaks) for one in told] == [("mail", True), ("post", False)]


def test_a_handler_that_lets_go_of_an_event_is_told() -> None:
    """api 1.8"""
    less = {**HANDLER, "events": ["shop/shipped"]}
    (change,) = changes(names(None, {"mail": HANDLER}), names(None, {"mail": less}))
    assert change.breaks
    assert "does not take shop/placed any more" in change.what


def test_a_handler_may_move_and_take_more() -> None:
    """api 1.8: its streams are looked for in the database"""
    more = {"context": "post", "queue": "files", "events": ["shop/placed", "shop/shipped"]}
    (change,) = changes(names(None, {"mail": HANDLER}), names(None, {"mail": more}))
    assert not change.breaks


BREAKING_JOBS = [
    (names(), "is not declared any more, but rows may wait under this name"),
    (job("ship"), "is not declared any more"),
    (job(aliases=[]), 'has lost "send", but rows may wait under it'),
    (job("ship", aliases=["export"]), 'has lost "send", but rows may wait under it'),
    (argument(parcel="integer"), "requires `parcel`, which was not there, but rows with the old"),
    (argument(day="integer"), "changed `day` from string date to integer"),
    (argument(day=None), "dropped `day`"),
    (argument(carrier="string"), "requires `carrier`, which was optional"),
    (job(argument="integer", fields={}), "takes integer, and took object"),
    (job(argument="nothing", fields={}), "takes nothing, and took object"),
    (job("ship", aliases=["export", "send"], argument="string", fields={}), "takes string, and"),
]


@pytest.mark.parametrize(("now", "told"), BREAKING_JOBS, ids=[told for _, told in BREAKING_JOBS])
def test_rows_of_a_job_that_could_not_be_read_are_told(now: Names, told: str) -> None:
    """JB-1 api 1.8"""
    change, *_ = [one for one in changes(job(), now) if one.breaks]
    assert (change.kind, change.name) == ("job", "export")
    assert told in change.what
    assert "todoke check --write --forget export" in change.remedy
    assert accepted(job(), now, forget=set()).jobs["export"] == job().jobs["export"]
    assert accepted(job(), now, forget={"export"}) == now


@pytest.mark.parametrize(
    "now",
    [
        job(queue="files", context="post"),
        job(aliases=["send", "post"]),
        argument(note="string (optional)"),
        argument(day="string date (optional)"),
        job("ship", aliases=["export", "send"]),
    ],
    ids=["moved", "alias", "optional field", "now optional", "renamed"],
)
def test_a_job_may_change_as_long_as_its_rows_are_taken(now: Names) -> None:
    """JB-1 api 1.8: under another name, too, if it keeps the one it had"""
    assert {one.breaks for one in changes(job(), now)} == {False}
    assert accepted(job(), now, forget=set()) == now


def test_a_name_that_another_job_takes_over_is_looked_at() -> None:
    """JB-1: its rows would be read by that one"""
    other = {**JOB, "argument": "integer", "fields": {}, "aliases": ["send"]}
    now = names(jobs={"export": {**JOB, "aliases": []}, "post": other})
    (change,) = [one for one in changes(job(), now) if one.breaks]
    assert "takes integer, and took object" in change.what


def test_a_lost_job_is_told_with_the_alias_that_keeps_it() -> None:
    """JB-1"""
    (change,) = changes(job(aliases=[]), names())
    assert 'aliases=["export"]' in change.remedy


def test_a_name_with_a_star_is_quoted_for_the_shell() -> None:
    """api 1.8"""
    (change,) = changes(names({"*/placed": EVENT}), names())
    assert "--forget '*/placed'" in change.remedy
    assert 'type="placed"' in change.remedy
    assert "context=" not in change.remedy


def test_what_is_recorded_is_made_of_plain_values() -> None:
    """api 1.8: a file that says more than it should is refused, not half read"""
    with pytest.raises(ValueError, match="extra"):
        EventName.model_validate({**EVENT, "colour": "red"})
    with pytest.raises(ValueError, match="queue"):
        HandlerName.model_validate({**HANDLER, "queue": 1})
