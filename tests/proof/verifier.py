"""Judges a run by its evidence: a pure function from evidence to violations.

1. Nothing lost     what was committed ended, at every handler; what was not left no trace
2. Effects once     a session's effect stands there once if processed, never if dead
3. Fenced           only the present holder of a row ends it; attempts only grow
4. One place        every row is living, settled or dead: exactly one of them
5. Letters complete a dead letter carries its payload and says why it died
6. In order         of one key, nothing is handed to a handler before what was committed earlier
                    has ended; the same may come again, after a failure or a crash
7. Ledger agrees    an entry is failed where a delivery of its message is dead, succeeded where all
                    of them are processed, and not there where it was rolled back

Jobs are judged by the first five as events are, and by `job_verifier` for what only they have.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.proof.evidence import Evidence, Expected, Published, Witnessed
from tests.proof.job_verifier import is_rescue, verify_jobs
from tests.proof.violation import Violation

LOST, TWICE, UNFENCED, PLACES, INCOMPLETE, INVERTED, DISAGREES = (
    "nothing lost",
    "effects once",
    "fenced",
    "one place",
    "letters complete",
    "in order",
    "ledger agrees",
)
ERROR_CLASSES = {"permanent", "transient", "business", "timeout"}


def verify(evidence: Evidence) -> list[Violation]:
    return [
        *_nothing_lost(evidence),
        *_effects_once(evidence),
        *_fenced(evidence),
        *_one_place(evidence),
        *_letters_complete(evidence),
        *_in_order(evidence),
        *_ledger_agrees(evidence),
        *verify_jobs(evidence),
    ]


def _nothing_lost(evidence: Evidence) -> Iterator[Violation]:
    present = _places(evidence)
    called = {(one.event, one.handler) for one in evidence.called}
    for one in evidence.published:
        traces = [place for place in present if place[0] == one.event]
        if one.told == "fail":
            if traces:
                yield Violation(LOST, one.event, "was rolled back, yet it is there")
        elif one.told == "ok" or traces:
            yield from _arrived(evidence, one, called)
    known = {one.event for one in evidence.published}
    for event in {place[0] for place in present} - known:
        yield Violation(LOST, event, "nobody published it")


def _arrived(
    evidence: Evidence, published: Published, called: set[tuple[str, str]]
) -> Iterator[Violation]:
    expected = evidence.expected[published.kind]
    settled = {(one.event, one.handler) for one in evidence.settled}
    dead = {(one.event, one.handler): one.code for one in evidence.letters if not one.redriven}
    for wish in expected:
        # One handler takes the event in place, so its row names no handler.
        row = (published.event, wish.handler if len(expected) > 1 else None)
        unrouted = (published.event, None)
        if row in settled:
            if wish.must_die:
                yield Violation(LOST, published.event, f"{wish.handler} should have given it up")
            elif ((published.event, wish.handler) in called) == wish.is_off:
                ran = "ran, though it is off" if wish.is_off else "never ran"
                yield Violation(LOST, published.event, f"settled, but {wish.handler} {ran}")
        elif row in dead or (unrouted in dead and unrouted not in settled):
            code = dead.get(row) or dead[unrouted]
            if code not in wish.may_die_of:
                yield Violation(LOST, published.event, f"{wish.handler} died of {code}")
        else:
            yield Violation(LOST, published.event, f"never arrived at {wish.handler}")


def _effects_once(evidence: Evidence) -> Iterator[Violation]:
    found = Counter((one.event, one.handler) for one in evidence.effects)
    for (event, handler), count in found.items():
        if count > 1:
            yield Violation(TWICE, event, f"{handler} took effect {count} times")
    settled = {(one.event, one.handler) for one in evidence.settled}
    for published in evidence.published:
        for wish in _session_wishes(evidence, published):
            row = (
                published.event,
                wish.handler if len(evidence.expected[published.kind]) > 1 else None,
            )
            took = found[published.event, wish.handler]
            if row in settled and took == 0:
                yield Violation(TWICE, published.event, f"{wish.handler} settled, no effect")
            if row not in settled and took > 0:
                yield Violation(TWICE, published.event, f"{wish.handler} took effect, not settled")


def _session_wishes(evidence: Evidence, published: Published) -> list[Expected]:
    return [one for one in evidence.expected[published.kind] if one.uses_session]


def _fenced(evidence: Evidence) -> Iterator[Violation]:
    rows: defaultdict[tuple[str, int], list[Witnessed]] = defaultdict(list)
    witnessed = [one for one in evidence.witnessed if one.what != "enqueued"]
    for one in witnessed:
        rows[one.place, one.row].append(one)
    behind = _freed_behind_another(witnessed)
    for (place, number), seen in rows.items():
        yield from _fenced_row(f"{place} row {number}", seen, behind)


def _freed_behind_another(witnessed: list[Witnessed]) -> set[int]:
    """Those that became ready behind an earlier one of their key in other hands, by identity.

    They cannot have begun, so a rescue leaves them as they were: a suspect would overtake.
    """
    living: defaultdict[tuple[str, int], dict[int, str | None]] = defaultdict(dict)
    strands: dict[tuple[str, int], int] = {}
    behind = set()
    for one in witnessed:
        strand = strands.setdefault((one.place, one.row), one.strand)
        of_its_key = living[one.place, strand]
        elsewhere = (row < one.row and of_its_key[row] != one.owner for row in of_its_key)
        if strand and one.what == "freed" and one.state == "ready" and any(elsewhere):
            behind.add(id(one))
        of_its_key[one.row] = one.owner if one.what == "claimed" else None
        if one.what in ("processed", "died"):
            del of_its_key[one.row]
    return behind


def _fenced_row(name: str, seen: list[Witnessed], behind: set[int]) -> Iterator[Violation]:
    holder: Witnessed | None = None
    highest = 0
    for one in seen:
        if one.what == "claimed":
            if holder is not None:
                yield Violation(
                    UNFENCED, name, f"claimed by {one.owner} while {holder.owner} had it"
                )
            if one.attempt <= highest:
                yield Violation(UNFENCED, name, f"attempt {one.attempt} was counted before")
            holder, highest = one, max(highest, one.attempt)
            continue
        if holder is None or (one.owner, one.attempt) != (holder.owner, holder.attempt):
            yield Violation(
                UNFENCED, name, f"{one.what} by attempt {one.attempt}, not the holder's"
            )
        elif one.by not in (None, one.owner) and not (is_rescue(one) or id(one) in behind):
            yield Violation(UNFENCED, name, f"{one.what} by {one.by}, held by {one.owner}")
        holder = None


def _one_place(evidence: Evidence) -> Iterator[Violation]:
    for (event, handler), places in _places(evidence).items():
        if len(places) != 1:
            yield Violation(PLACES, event, f"{handler or 'the event'} is {' and '.join(places)}")


def _places(evidence: Evidence) -> dict[tuple[str, str | None], list[str]]:
    places: defaultdict[tuple[str, str | None], list[str]] = defaultdict(list)
    for living in evidence.living:
        places[living.event, living.handler].append("living")
    for settled in evidence.settled:
        places[settled.event, settled.handler].append("settled")
    for letter in evidence.letters:
        if not letter.redriven:
            places[letter.event, letter.handler].append("dead")
    return places


def _letters_complete(evidence: Evidence) -> Iterator[Violation]:
    bodies = {one.event: one.body for one in evidence.published}
    for letter in evidence.letters:
        missing = [name for name in ("error_class", "code", "message") if not getattr(letter, name)]
        if missing:
            yield Violation(INCOMPLETE, letter.event, f"says nothing of {', '.join(missing)}")
        if letter.error_class not in ERROR_CLASSES:
            yield Violation(INCOMPLETE, letter.event, f"error class {letter.error_class!r}")
        if letter.attempts < 1:
            yield Violation(INCOMPLETE, letter.event, f"{letter.attempts} attempts")
        if letter.body != bodies.get(letter.event, letter.body):
            yield Violation(INCOMPLETE, letter.event, "its payload is not what was published")
        if letter.code.endswith("_ERROR") and "Traceback" not in letter.traceback:
            yield Violation(INCOMPLETE, letter.event, "an exception without its traceback")


def _in_order(evidence: Evidence) -> Iterator[Violation]:
    position = {one.event: (one, number) for number, one in enumerate(evidence.published)}
    latest: dict[tuple[str, str], int] = {}
    for call in evidence.called:
        published, number = position.get(call.event, (None, 0))
        if published is None or not published.key:
            continue
        # Handled in place, an event waits for all of its key; as a delivery for its handler's.
        alone = len(evidence.expected[published.kind]) == 1
        line = (published.key, "" if alone else call.handler)
        if number < latest.get(line, 0):
            yield Violation(INVERTED, call.event, f"{call.handler} got it after a later one")
        latest[line] = max(number, latest.get(line, 0))


def _ledger_agrees(evidence: Evidence) -> Iterator[Violation]:
    states = {one.event: one.state for one in evidence.entries}
    places: defaultdict[str, set[str]] = defaultdict(set)
    for (event, _), found in _places(evidence).items():
        places[event].update(found)
    for one in evidence.published:
        state, should = states.pop(one.event, None), _state(places[one.event])
        if one.accepted and state != should:
            yield Violation(DISAGREES, one.event, f"its entry is {state}, it should be {should}")
    for event, state in states.items():
        yield Violation(DISAGREES, event, f"an entry that is {state}, and no event")


def _state(places: set[str]) -> str | None:
    if not places:
        return None
    if "dead" in places:
        return "failed"
    return "accepted" if "living" in places else "succeeded"
