"""Which steps of two sides are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.findings.edits import AppendCall, LongerEpochs, SetKeyword, SkipBatches
from fitdoctor.findings.place import Where
from fitdoctor.findings.rounds import Rounds, longest
from fitdoctor.proof.compared import stretches
from fitdoctor.proof.equivalence import Equivalence
from fitdoctor.proof.measure import measure
from fitdoctor.proof.measured import Limits
from fitdoctor.proof.proof_verdict import judge
from fitdoctor.proof.timeline import Span, Timeline
from proof.runs import MS, FakeSides, timeline


def compared(before: Timeline, after: Timeline, limit: int | None = None):
    return stretches([(before, after)] * 3, limit)


def varying(*lengths: tuple[int, float], compiled: tuple[tuple[int, int], ...] = ()) -> Timeline:
    """So many steps of so many milliseconds, and so on."""
    spans, t = [], 0
    for steps, ms in lengths:
        for _ in range(steps):
            spans.append(Span(t, t + int(ms * MS), 1))
            t += int(ms * MS)
    return Timeline(tuple(spans), None, 1, 0.0, compiled=compiled)


def test_the_same_steps_where_neither_did_more() -> None:
    one, other = compared(timeline(100, 20 * MS), timeline(100, 5 * MS))
    assert one == other
    assert one.last == 100


def test_the_same_steps_where_they_were_asked_for() -> None:
    one, other = compared(timeline(100, 20 * MS), timeline(900, 5 * MS), limit=80)
    assert one == other
    assert one.last == 80


def test_more_steps_of_the_faster_side_where_they_are_alike() -> None:
    one, other = compared(timeline(20, 100 * MS), timeline(900, MS))
    assert (one.last, other.last) == (20, 900)


def test_further_steps_of_another_kind_do_not_count() -> None:
    # Longer sequences come later: only the first steps were seen of the slower side.
    one, other = compared(timeline(20, 100 * MS), varying((20, 1.0), (500, 9.0)))
    assert one == other


def test_no_step_beyond_an_epoch_that_the_other_did_not_finish() -> None:
    after = replace(timeline(900, MS), epoch_steps=100)
    one, other = compared(timeline(20, 100 * MS), after)
    assert (one.last, other.last) == (20, 100)
    # Where both saw an epoch's end, further epochs are alike.
    one, other = compared(timeline(120, 100 * MS), after)
    assert (one.last, other.last) == (120, 900)


def test_a_shape_that_is_compiled_once_is_no_other_kind_of_step() -> None:
    # The last batch of the first epoch is smaller, and is compiled in 2 s.
    steps = ((62, 4.0), (1, 2004.0), (500, 4.0))
    compiled = ((62 * 4 * MS, 62 * 4 * MS + 2000 * MS),)
    plain, seen = varying(*steps), varying(*steps, compiled=compiled)
    assert compared(timeline(100, 60 * MS), plain)[1].last == 100
    one, other = compared(timeline(100, 60 * MS), seen)
    assert other.last == 563
    assert other.step_ns(seen) == pytest.approx(4 * MS)  # it lies in the warm-up
    assert one.last == 100


def test_a_side_that_is_over_in_a_moment_is_watched_for_longer() -> None:
    sides = FakeSides(200 * MS, MS)
    found = measure(sides.run, Limits(window_s=10), clock=sides.clock)
    assert found.steps == 50
    assert found.further_steps > 5000
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(200, rel=0.01)
    assert found.runs == 6  # the run that told so does not count


def test_a_side_that_takes_its_time_is_not() -> None:
    sides = FakeSides(20 * MS, 15 * MS)
    found = measure(sides.run, Limits(window_s=10), clock=sides.clock)
    assert found.further_steps == 0
    assert sides.order[:4] == ["A", "B", "B", "A"]


# -- what the second side does only now and then -------------------------------------


def now_and_then(steps: int, every: int, *, often: float = 1.0, rare: float = 101.0) -> Timeline:
    """Steps of 1 ms; every so manieth takes longer, since something comes behind it."""
    spans, t = [], 0
    for number in range(1, steps + 1):
        length = int((rare if number % every == 0 else often) * MS)
        spans.append(Span(t, t + length, 1))
        t += length
    return Timeline(tuple(spans), None, 1, 0.0)


def test_a_whole_round_is_compared() -> None:
    before = replace(timeline(100, 20 * MS), epoch_steps=50)
    after = now_and_then(300, every=250)
    one, other = stretches([(before, after)] * 3, None, Rounds(epochs=5))
    assert other.steps == 250
    # 250 steps of 1 ms and 100 ms behind one of them.
    assert other.step_ns(after) == pytest.approx(1.4 * MS)
    assert one.steps == 100  # two epochs
    # Without that knowledge the steps between would stand for all.
    assert stretches([(before, after)] * 3)[1].step_ns(after) < 1.35 * MS


def test_a_round_that_was_not_seen_is_not_made_up() -> None:
    before = replace(timeline(100, 20 * MS), epoch_steps=50)
    one, other = stretches([(before, timeline(120, MS))] * 3, None, Rounds(epochs=5))
    assert one == other


def test_the_second_side_is_watched_for_a_round() -> None:
    sides = FakeSides(20 * MS, 5 * MS)
    found = measure(sides.run, Limits(window_s=10), clock=sides.clock, rounds=Rounds(steps=800))
    assert found.unseen_round is None
    assert found.steps + found.further_steps >= 800


def test_a_round_that_takes_too_long_is_told() -> None:
    sides = FakeSides(20 * MS, 15 * MS)
    rounds = Rounds(steps=1_000_000)
    found = measure(sides.run, Limits(window_s=10), clock=sides.clock, rounds=rounds)
    assert found.unseen_round == 1_000_000
    verdict, reason = judge(found, Equivalence("identical", "bitwise", ""), may_differ=False)
    assert verdict == "proven"
    assert "once in 1000000 steps was not seen" in reason


def test_a_cache_counts_from_the_second_epoch_on() -> None:
    before = replace(timeline(130, 20 * MS), epoch_steps=100)
    after = varying((100, 20.0), (120, 2.0))
    one, other = stretches([(before, after)] * 3, None, Rounds(settles=1))
    assert other.first >= 100
    assert other.step_ns(after) == pytest.approx(2 * MS)
    assert one.step_ns(before) == pytest.approx(20 * MS)
    # Where no epoch's end was seen, there is nothing to begin from.
    plain = timeline(130, 20 * MS)
    one, other = stretches([(plain, varying((100, 20.0), (30, 2.0)))] * 3, None, Rounds(settles=1))
    assert one == other


def test_the_first_side_need_not_come_to_an_epochs_end_to_see_a_cache_filled() -> None:
    before = timeline(60, 20 * MS)
    after = varying((100, 20.0), (80, 2.0))
    one, other = stretches([(before, after)] * 3, None, Rounds(settles=1, epoch_steps=100))
    assert one.last == 60
    assert other.first >= 100
    assert other.step_ns(after) == pytest.approx(2 * MS, rel=0.01)


def test_the_rounds_of_a_cure_come_from_its_edits() -> None:
    where = Where("/user/train.py", 3)
    assert longest([]) == Rounds()
    assert SetKeyword(where, "compile", "jit_compile", "False").rounds() == Rounds()
    assert SkipBatches(where, 50).rounds() == Rounds(steps=50)
    assert SetKeyword(where, "fit", "validation_freq", "5").rounds() == Rounds(epochs=5)
    assert SetKeyword(where, "ModelCheckpoint", "save_freq", '"epoch"').rounds().epochs == 1
    assert AppendCall(where, "map", ".cache()").rounds() == Rounds(settles=1)
    both = [LongerEpochs(where, 25), SetKeyword(where, "fit", "validation_freq", "5")]
    assert longest(edit.rounds() for edit in both) == Rounds(epochs=25)
    assert Rounds(steps=50, epochs=2).in_steps(None) == 50
    assert Rounds(steps=50, epochs=2).in_steps(100) == 200
