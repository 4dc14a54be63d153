"""A verifier that cannot fail proves nothing: one bad history per invariant, and a good one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.proof.evidence import (
    Called,
    Effect,
    Entry,
    Evidence,
    Expected,
    Letter,
    Living,
    Published,
    Settled,
    Witnessed,
)
from tests.proof.verifier import (
    DISAGREES,
    INCOMPLETE,
    LOST,
    PLACES,
    TWICE,
    UNFENCED,
    verify,
)

LETTER = Letter("e2", None, "{}", "permanent", "BROKEN", "cannot be", "Traceback …", 1)


def good() -> Evidence:
    """Two events: one took effect, one died as it should."""
    return Evidence(
        expected={
            "Paid": [Expected("pay", uses_session=True)],
            "Broken": [Expected("refuse", must_die=True, may_die_of=frozenset({"BROKEN"}))],
        },
        published=[
            Published("e1", "Paid", "{}", "ok", accepted=True),
            Published("e2", "Broken", "{}", "ok", accepted=True),
        ],
        entries=[Entry("e1", "succeeded"), Entry("e2", "failed")],
        called=[Called("e1", "pay", "t1"), Called("e2", "refuse", "t2")],
        witnessed=[
            Witnessed("claimed", "outbox", 1, "w1", 1),
            Witnessed("processed", "outbox", 1, "w1", 1, by="w1"),
            Witnessed("claimed", "outbox", 2, "w1", 1),
            Witnessed("died", "outbox", 2, "w1", 1, "BROKEN", by="w1"),
        ],
        settled=[Settled("e1", None)],
        letters=[LETTER],
        effects=[Effect("e1", "pay", "t1")],
    )


def test_a_good_history_has_no_violation() -> None:
    assert verify(good()) == []


def _never_arrived(evidence: Evidence) -> None:
    evidence.settled.clear()
    evidence.effects.clear()


def _settled_but_never_ran(evidence: Evidence) -> None:
    evidence.called.clear()


def _rolled_back_yet_there(evidence: Evidence) -> None:
    evidence.published[0] = replace(evidence.published[0], told="fail")


def _from_nowhere(evidence: Evidence) -> None:
    evidence.settled.append(Settled("e9", None))


def _died_of_something_else(evidence: Evidence) -> None:
    evidence.letters[0] = replace(LETTER, code="NO_HANDLER")


def _took_effect_twice(evidence: Evidence) -> None:
    evidence.effects.append(Effect("e1", "pay", "t9"))


def _settled_without_effect(evidence: Evidence) -> None:
    evidence.effects.clear()


def _late_finisher_wrote(evidence: Evidence) -> None:
    evidence.witnessed[1:1] = [
        Witnessed("freed", "outbox", 1, "w1", 1, "suspect", by="w2"),
        Witnessed("claimed", "outbox", 1, "w2", 2),
    ]


def _freed_by_a_stranger(evidence: Evidence) -> None:
    evidence.witnessed.insert(1, Witnessed("freed", "outbox", 1, "w1", 1, "later", by="w2"))
    evidence.witnessed.insert(2, Witnessed("claimed", "outbox", 1, "w1", 2))
    evidence.witnessed[3] = Witnessed("processed", "outbox", 1, "w1", 2, by="w1")


def _made_ready_by_a_stranger(evidence: Evidence) -> None:
    evidence.witnessed.insert(1, Witnessed("freed", "outbox", 1, "w1", 1, "ready", by="w2"))
    evidence.witnessed.insert(2, Witnessed("claimed", "outbox", 1, "w1", 2))
    evidence.witnessed[3] = Witnessed("processed", "outbox", 1, "w1", 2, by="w1")


def _attempt_not_counted(evidence: Evidence) -> None:
    evidence.witnessed[1:1] = [
        Witnessed("freed", "outbox", 1, "w1", 1, "later", by="w1"),
        Witnessed("claimed", "outbox", 1, "w1", 1),
    ]


def _claimed_by_two(evidence: Evidence) -> None:
    evidence.witnessed.insert(1, Witnessed("claimed", "outbox", 1, "w2", 2))
    evidence.witnessed[2] = Witnessed("processed", "outbox", 1, "w2", 2, by="w2")


def _in_two_places(evidence: Evidence) -> None:
    evidence.living.append(Living("e1", None))


def _letter_without_reason(evidence: Evidence) -> None:
    evidence.letters[0] = replace(LETTER, message="")


def _letter_with_another_payload(evidence: Evidence) -> None:
    evidence.letters[0] = replace(LETTER, body='{"case":1}')


def _letter_without_attempts(evidence: Evidence) -> None:
    evidence.letters[0] = replace(LETTER, attempts=0)


def _entry_of_a_dead_one_in_progress(evidence: Evidence) -> None:
    evidence.entries[1] = Entry("e2", "accepted")


def _entry_missing(evidence: Evidence) -> None:
    evidence.entries.pop()


def _entry_without_an_event(evidence: Evidence) -> None:
    evidence.entries.append(Entry("e3", "accepted"))


@pytest.mark.parametrize(
    ("spoil", "invariant"),
    [
        (_never_arrived, LOST),
        (_settled_but_never_ran, LOST),
        (_rolled_back_yet_there, LOST),
        (_from_nowhere, LOST),
        (_died_of_something_else, LOST),
        (_took_effect_twice, TWICE),
        (_settled_without_effect, TWICE),
        (_late_finisher_wrote, UNFENCED),
        (_freed_by_a_stranger, UNFENCED),
        (_made_ready_by_a_stranger, UNFENCED),
        (_attempt_not_counted, UNFENCED),
        (_claimed_by_two, UNFENCED),
        (_in_two_places, PLACES),
        (_letter_without_reason, INCOMPLETE),
        (_letter_with_another_payload, INCOMPLETE),
        (_letter_without_attempts, INCOMPLETE),
        (_entry_of_a_dead_one_in_progress, DISAGREES),
        (_entry_missing, DISAGREES),
        (_entry_without_an_event, DISAGREES),
    ],
)
def test_a_bad_history_is_called_by_its_name(spoil: object, invariant: str) -> None:
    """Each invariant of the verifier can fail."""
    evidence = good()
    spoil(evidence)  # type: ignore[operator]
    assert invariant in {one.invariant for one in verify(evidence)}


def test_a_rescue_may_make_ready_what_only_waited_behind_another() -> None:
    """OB-9 OB-7: it cannot have begun, and as a suspect it would overtake."""
    evidence = good()
    evidence.witnessed += [
        Witnessed("claimed", "outbox", 8, "w1", 1, strand=5),
        Witnessed("claimed", "outbox", 9, "w1", 1, strand=5),
        Witnessed("freed", "outbox", 8, "w1", 1, "ready", by="w1", strand=5),
        Witnessed("freed", "outbox", 9, "w1", 1, "ready", by="w2", strand=5),
    ]
    assert UNFENCED not in {one.invariant for one in verify(evidence)}


@pytest.mark.parametrize(
    "earlier",
    [
        [Witnessed("freed", "outbox", 8, "w1", 1, "ready", by="w1", strand=6)],
        [Witnessed("processed", "outbox", 8, "w1", 1, by="w1")],
        [],
    ],
    ids=["of another key", "ended", "in the same hands"],
)
def test_a_rescue_may_not_make_ready_what_may_have_begun(earlier: list[Witnessed]) -> None:
    """OB-9 OB-7"""
    evidence = good()
    strand = earlier[0].strand if earlier and earlier[0].strand else 5
    evidence.witnessed += [
        Witnessed("claimed", "outbox", 8, "w1", 1, strand=strand),
        Witnessed("claimed", "outbox", 9, "w1", 1, strand=5),
        *earlier,
        Witnessed("freed", "outbox", 9, "w1", 1, "ready", by="w2", strand=5),
    ]
    assert UNFENCED in {one.invariant for one in verify(evidence)}
