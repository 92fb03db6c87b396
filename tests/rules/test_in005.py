from __future__ import annotations

import pytest

from fitdoctor.findings.edits import FITDOCTOR, CallInstead, SwapCalls
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.per_element_pipeline import RULE
from fitdoctor.rules.input.python_bound_loader import RULE as PYTHON_BOUND
from synthetic import MS, loader, slow_pipeline, stage, trial, view

MAPPED = (stage("batch", 0), stage("map", 1), stage("from_tensor_slices", 2, inputs=[]))
ROWS = (stage("batch", 0), stage("shuffle", 1), stage("from_tensor_slices", 2, inputs=[]))
GENERATED = (
    stage("batch", 0, batch_size=32),
    stage("from_generator", 1, inputs=[], python=True),
)
GENERATED_ROWS = [
    {"n": 0, "per_batch": 1.0, "ns": 6 * MS, "own_ns": 0, "own_cpu_ns": 0},
    {"n": 1, "per_batch": 32.0, "ns": 6 * MS, "own_ns": 6 * MS, "own_cpu_ns": 6 * MS},
]


def generated(alone_ns: float, **more):
    probes = {
        "generator_alone": {"ns": alone_ns, "cpu_ns": alone_ns, "count": 1000},
        "loader_alone": loader(6 * MS, user_share=0.9),
    }
    return view(
        slow_pipeline(
            *GENERATED, loader_ns=6 * MS, frozen=MS, rows=GENERATED_ROWS, probes=probes, **more
        )
    )


def test_silent_without_any_trial() -> None:
    assert RULE.detect(view(slow_pipeline(*MAPPED))) is None


def test_silent_when_batching_first_gives_another_batch() -> None:
    first = trial(3 * MS, 30 * MS, same=False, stage=1)
    assert RULE.detect(view(slow_pipeline(*MAPPED, probes={"trial_batch_first": first}))) is None


def test_silent_when_the_step_is_as_long() -> None:
    first = trial(3 * MS, 30 * MS, same=True, stage=1)
    workload = slow_pipeline(*MAPPED, frozen=30 * MS, probes={"trial_batch_first": first})
    assert RULE.detect(view(workload)) is None


def test_silent_when_the_generator_itself_takes_the_time() -> None:
    assert RULE.detect(generated(150_000)) is None


def test_batching_first_is_safe_and_priced_by_the_trial() -> None:
    first = trial(6 * MS, 30 * MS, same=True, stage=1)
    found = RULE.detect(view(slow_pipeline(*MAPPED, probes={"trial_batch_first": first})))
    assert found is not None
    assert found.gain.value == pytest.approx(5.0, rel=0.05)
    assert found.cure.safety == "safe"
    assert found.where.line == 101


def test_batching_first_that_rounds_otherwise_is_unsafe() -> None:
    first = trial(6 * MS, 30 * MS, same=False, close=True, stage=1)
    found = RULE.detect(view(slow_pipeline(*MAPPED, probes={"trial_batch_first": first})))
    assert found is not None
    assert found.cure.safety == "unsafe"
    assert "but for rounding" in found.cure.summary


def test_arrays_instead_of_shuffled_rows_change_the_order() -> None:
    arrays = trial(10 * MS, 30 * MS, stage=0, source=2)
    found = RULE.detect(view(slow_pipeline(*ROWS, probes={"trial_arrays": arrays})))
    assert found is not None
    assert found.gain.value == pytest.approx(3.0, rel=0.05)
    assert found.cure.safety == "unsafe"
    assert found.where.line == 102


def test_a_quick_generator_of_rows_pays_for_the_crossing() -> None:
    found = RULE.detect(generated(1_000))
    assert found is not None
    # Two crossings of 186 us and 32 us of the generator itself, below the step of 1 ms.
    assert found.gain.value == pytest.approx(6.0, rel=0.1)
    assert found.where.line == 101


def chunks(ns: float, **facts: object):
    probes = {
        "generator_alone": {"ns": 1_000, "cpu_ns": 1_000, "count": 1000},
        "loader_alone": loader(6 * MS, user_share=0.9),
        "trial_chunks": trial(ns, 6 * MS, stage=1, **facts),
    }
    return RULE.detect(
        view(
            slow_pipeline(
                *GENERATED, loader_ns=6 * MS, frozen=MS, rows=GENERATED_ROWS, probes=probes
            )
        )
    )


def test_rows_in_chunks_are_not_offered_where_they_gain_nothing() -> None:
    assert chunks(5.9 * MS, repeats=True).partly is None
    assert RULE.detect(generated(1_000)).partly is None


def test_rows_in_chunks_are_what_an_edit_can_do() -> None:
    found = chunks(3 * MS, repeats=True)
    part = found.partly
    assert (found.cure.safety, found.as_edited) == ("advice", part)
    assert part.gain.value == pytest.approx(2.0, rel=0.1)
    assert part.cure.safety == "safe"
    assert part.cure.edits == (
        CallInstead(
            Where("/user/data.py", 101), "from_generator", "fitdoctor.from_generator", (FITDOCTOR,)
        ),
    )


def test_rows_in_chunks_are_the_cure_where_batches_would_give_no_more() -> None:
    found = chunks(0.5 * MS, repeats=True)
    assert found.partly is None
    assert found.cure.safety == "safe"
    assert found.cure.edits


def test_a_generator_that_draws_random_numbers_is_read_ahead_only_when_asked_for() -> None:
    assert chunks(3 * MS, repeats=False).partly.cure.safety == "unsafe"


def test_the_python_rule_leaves_the_crossing_to_this_one_and_takes_the_rest() -> None:
    assert PYTHON_BOUND.detect(generated(1_000)) is None
    assert PYTHON_BOUND.detect(generated(150_000)) is not None


def test_every_map_before_the_batch_is_moved_behind_it() -> None:
    stages = (
        stage("prefetch", 0),
        stage("batch", 1),
        stage("map", 2),
        stage("shuffle", 3),
        stage("map", 4),
        stage("filter", 5),
        stage("map", 6),
        stage("range", 7, inputs=[]),
    )
    first = trial(6 * MS, 30 * MS, same=True, stage=2)
    found = RULE.detect(view(slow_pipeline(*stages, probes={"trial_batch_first": first})))
    assert found is not None
    # The nearest first; a filter needs the elements that the map above it makes.
    assert found.cure.edits == (
        SwapCalls(Where("/user/data.py", 102), "map", "batch"),
        SwapCalls(Where("/user/data.py", 104), "map", "batch"),
    )


def test_no_edit_where_a_map_was_written_unseen() -> None:
    stages = (stage("batch", 0), stage("map", 1, file=None), stage("range", 2, inputs=[]))
    first = trial(6 * MS, 30 * MS, same=True, stage=1)
    found = RULE.detect(view(slow_pipeline(*stages, probes={"trial_batch_first": first})))
    assert found is not None
    assert found.cure.edits == ()
