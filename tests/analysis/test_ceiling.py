"""What a step would take with its data in memory, where the measurements do not add up."""

from __future__ import annotations

import pytest

from fitdoctor.analysis.view import KERAS_LOOP_NS
from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.step import FrozenAgain, FrozenBatch, FrozenInLoop
from fitdoctor.intervals import Interval
from fitdoctor.pricing.loading import saved_by, step_left
from synthetic import MS, fit_workload, loader, timed, view


def seen(period: float, frozen: float, loading: float, *, wait: float = 0.0, found=()):
    return view(
        fit_workload(
            period=round(period * MS),
            step=round((period - wait) * MS),
            wait=round(wait * MS),
            found=[timed(FrozenBatch, frozen * MS), loader(loading * MS), *found],
        )
    )


def test_what_loading_cannot_explain_stays_with_the_step() -> None:
    # A healthy fit: 60 ms of step, 2 ms of loading, 3 ms of something else.
    assert seen(65, 60, 2).ceiling_step.value == pytest.approx(63 * MS, rel=0.01)


def test_where_loading_dominates_both_are_slowed_alike() -> None:
    # 14 ms of loading and 1 ms of step alone, 22.5 ms together: half as slow again.
    ceiling = seen(22.5, 1, 14).ceiling_step.value
    assert ceiling == pytest.approx(1.5 * MS + KERAS_LOOP_NS, rel=0.01)


def test_the_loop_that_stays_is_no_more_than_the_rest() -> None:
    # A short step: 0.05 ms of it, 0.75 ms of loading, and 0.1 ms of anything else.
    assert seen(0.9, 0.05, 0.75).ceiling_step.value == pytest.approx(0.15 * MS, rel=0.01)


def test_the_frozen_step_is_timed_twice_and_the_shorter_counts_where_they_disagree() -> None:
    agree = seen(20, 10, 2, found=[timed(FrozenAgain, 11 * MS)])
    held_up = seen(20, 10, 2, found=[timed(FrozenAgain, 18 * MS)])
    assert agree.frozen.value == pytest.approx(10.5 * MS)
    assert held_up.frozen.value == pytest.approx(10 * MS)
    assert held_up.frozen.high >= 18 * MS


def test_the_first_batch_of_an_epoch_is_saved_only_out_of_the_gap_between_epochs() -> None:
    one = seen(20, 2, 18, wait=18)  # one epoch: nothing lies between epochs
    assert one.costs.parts.get("epoch_gap", 0.0) == 0.0
    after = Interval.exact(0.0)
    with_first = saved_by(one, after, overlapped=False)
    assert with_first == saved_by(one, after, overlapped=False, first_batches=False)


def test_where_keras_loop_was_timed_it_says_what_stays() -> None:
    # A tiny step of 0.05 ms takes 0.25 ms inside Keras's loop; 1.3 ms with its data.
    measured = seen(1.3, 0.05, 0.9, found=[timed(FrozenInLoop, 0.25 * MS)])
    assert measured.ceiling_step.value >= 0.25 * MS
    assert step_left(measured).value == pytest.approx(0.25 * MS, rel=0.01)
    # Without that, a guess between the frozen step and all that loading leaves.
    guessed = seen(1.3, 0.05, 0.9)
    assert 0.05 * MS < step_left(guessed).value < 0.25 * MS


def test_a_loop_that_seems_shorter_than_its_step_is_noise() -> None:
    measured = seen(20, 2, 18, found=[timed(FrozenInLoop, 1.8 * MS)])
    assert measured.frozen_in_loop is not None
    assert measured.frozen_in_loop.value == pytest.approx(2 * MS)


def test_a_step_too_short_to_tell_is_hidden_once_the_lock_is_free() -> None:
    # 19 ms of Python beside a step of 1 ms, 21 ms together: their sum says nothing of overlap.
    after = Interval.exact(0.5 * MS)
    given = InputFacts(kind="PyDataset", workers=1)
    on_tensorflow = seen(21, 1, 19, found=[timed(FrozenInLoop, 1 * MS), given])
    freed = saved_by(on_tensorflow, after, overlapped=False, lock_is_freed=True)
    held = saved_by(on_tensorflow, after, overlapped=False)
    assert freed.value == pytest.approx(20 * MS, rel=0.01)
    assert held.value == pytest.approx(19.5 * MS, rel=0.01)
    # A step as long as its loading shows by itself whether it is hidden.
    longer = seen(21, 12, 9, found=[timed(FrozenInLoop, 12 * MS), given])
    assert saved_by(longer, after, overlapped=False, lock_is_freed=True) == saved_by(
        longer, after, overlapped=False
    )
