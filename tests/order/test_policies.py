"""What becomes of a key when one of its events dies: park, skip or block."""

from __future__ import annotations

import pytest

from tests.application import letters, living, publish
from tests.order.walks import (
    WAYS,
    Journal,
    Marched,
    Strolled,
    barriers,
    later,
    listen,
    states,
    steps,
)
from todoke import Backoff, PermanentError, Reject, Todoke, TransientError
from todoke.errors import InvalidOption
from todoke.testing import Clock

DEADLY = [PermanentError("no"), Reject("no")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("answer", DEADLY, ids=["error", "reject"])
def test_followers_of_a_dead_letter_are_parked_unless_told_otherwise(
    app: Todoke, journal: Journal, way: str, answer: PermanentError | Reject
) -> None:
    """OB-9 ER-3"""
    listen(app, journal, way)
    journal.always("a", 2, answer)
    publish(app, *steps("a", 1, 2, 3, 4), *steps("b", 1, 2))
    app.drain()
    assert (journal.of("a"), journal.of("b"), states(app)) == ([1], [1, 2], ["held", "held"])
    assert [one.key for one in letters(app)] == ["a"]


def test_a_head_that_used_up_its_attempts_parks_its_followers(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 ER-3"""
    listen(app, journal, retry=Backoff("1s"))
    journal.always("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2))
    app.drain()
    later(app, clock)
    assert (len(letters(app)), states(app), journal.seen) == (1, ["held"], [])


@pytest.mark.parametrize("way", WAYS)
def test_skip_lets_followers_go_on_in_order(
    app: Todoke, journal: Journal, clock: Clock, way: str
) -> None:
    """OB-9: they wait while it is tried, and no longer"""
    listen(app, journal, way, Strolled, retry=Backoff("1s"))
    journal.always("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2, 3, kind=Strolled))
    app.drain()
    assert (journal.seen, states(app)) == ([], ["later", "held", "held"])
    later(app, clock)
    assert (journal.of("a"), living(app), barriers(app)) == ([2, 3], [], [])
    assert len(letters(app)) == 1


def test_skip_at_the_first_attempt_stops_nobody(app: Todoke, journal: Journal) -> None:
    """OB-9"""
    listen(app, journal, kind=Strolled)
    journal.always("a", 1, PermanentError("no"))
    publish(app, *steps("a", 1, 2, 3, kind=Strolled))
    app.drain()
    assert (journal.of("a"), barriers(app), len(letters(app))) == ([2, 3], [], 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "answer", [*DEADLY, TransientError("busy")], ids=["error", "reject", "transient"]
)
def test_block_never_dies_and_is_tried_at_the_longest_interval(
    app: Todoke, journal: Journal, clock: Clock, way: str, answer: PermanentError | Reject
) -> None:
    """OB-9"""
    listen(app, journal, way, Marched, retry=Backoff("1s", "30s", jitter=0.0))
    journal.always("a", 1, answer)
    publish(app, *steps("a", 1, 2, kind=Marched))
    app.drain()
    for _ in range(2):
        later(app, clock, "30s")  # whatever attempts the policy grants are used up
    tried = len(journal.tried)
    for more in range(1, 6):
        later(app, clock, "29s")
        assert len(journal.tried) == tried + more - 1
        later(app, clock, "1s")
        assert len(journal.tried) == tried + more
    assert (letters(app), states(app), journal.seen) == ([], ["later", "held"], [])
    journal.fine_now()
    later(app, clock, "30s")
    assert (journal.of("a"), living(app), barriers(app)) == ([1, 2], [], [])


def test_a_handlers_word_wins_over_its_events(app: Todoke, journal: Journal) -> None:
    """OB-9"""
    listen(app, journal, followers="skip")
    journal.always("a", 1, PermanentError("no"))
    publish(app, *steps("a", 1, 2))
    app.drain()
    assert (journal.of("a"), len(letters(app))) == ([2], 1)


def test_settings_word_wins_over_the_handlers(app: Todoke, journal: Journal) -> None:
    """OB-9"""
    app.settings = app.settings.with_values({"handlers.note.followers": "park"})
    listen(app, journal, followers="skip")
    journal.always("a", 1, PermanentError("no"))
    publish(app, *steps("a", 1, 2))
    app.drain()
    assert (journal.seen, states(app)) == ([], ["held"])


def test_each_of_several_handlers_has_its_own_policy(app: Todoke, clock: Clock) -> None:
    """OB-9"""
    journals = {name: Journal() for name in ("park", "skip", "block")}
    for name, journal in journals.items():
        listen(app, journal, name=name, followers=name, retry=Backoff("1s", jitter=0.0))
        journal.always("a", 1, PermanentError("no"))
    publish(app, *steps("a", 1, 2))
    app.drain()
    assert {name: one.of("a") for name, one in journals.items()} == {
        "park": [], "skip": [2], "block": [],
    }  # fmt: skip
    assert sorted(one.name for one in letters(app)) == ["park", "skip"]
    journals["block"].fine_now()
    later(app, clock)
    assert journals["block"].of("a") == [1, 2]


def test_what_expired_dies_and_parks_even_where_it_would_block(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-13: another attempt would only find it later still"""
    listen(app, journal, kind=Marched)
    publish(app, *steps("a", 1, kind=Marched), expires="1m")
    publish(app, *steps("a", 2, kind=Marched))
    later(app, clock, "1m")
    assert ([one.code for one in letters(app)], states(app)) == (["EXPIRED"], ["held"])
    assert journal.seen == []


def test_a_followers_policy_nobody_knows_is_refused(app: Todoke, journal: Journal) -> None:
    """OB-9"""
    listen(app, journal, followers="hope")
    with pytest.raises(InvalidOption, match="park, skip or block"):
        app.drain()
