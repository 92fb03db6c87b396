from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import GeneratorAlone
from fitdoctor.contract.evidence.pipeline import AsArrays, BatchFirst, InChunks, StageTime
from fitdoctor.findings.edits import FITDOCTOR, CallInstead, SwapCalls
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.per_element_pipeline import RULE
from fitdoctor.rules.input.python_bound_loader import RULE as PYTHON_BOUND
from synthetic import MS, loader, slow_pipeline, stage, tried, view

MAPPED = (stage("batch", 0), stage("map", 1), stage("from_tensor_slices", 2, inputs=()))
ROWS = (stage("batch", 0), stage("shuffle", 1), stage("from_tensor_slices", 2, inputs=()))
GENERATED = (
    stage("batch", 0, batch_size=32),
    stage("from_generator", 1, inputs=(), python=True),
)


def first(ns: float, *, same: bool = True, **more: Any) -> BatchFirst:
    return tried(BatchFirst, ns, 30 * MS, same=same, **{"stage": 1, **more})


def generated(own_ns: int, *more: object, per_batch: float = 32.0) -> View:
    rows = [
        StageTime(n=0, per_batch=1.0, ns=6 * MS, cpu_ns=6 * MS, own_ns=0, own_cpu_ns=0),
        StageTime(
            n=1,
            per_batch=per_batch,
            ns=6 * MS,
            cpu_ns=6 * MS,
            own_ns=6 * MS,
            own_cpu_ns=6 * MS,
        ),
    ]
    found = (
        GeneratorAlone(ns=own_ns, cpu_ns=own_ns, count=1000),
        loader(6 * MS, user_share=0.9),
        *more,
    )
    return view(slow_pipeline(*GENERATED, loader_ns=6 * MS, frozen=MS, rows=rows, found=found))


def chunks(ns: float, *, repeats: bool) -> Finding:
    trial = tried(InChunks, ns, 6 * MS, stage=1, repeats=repeats)
    found = RULE.detect(generated(1_000, trial))
    assert found is not None
    return found


def test_silent_without_any_trial() -> None:
    assert RULE.detect(view(slow_pipeline(*MAPPED))) is None


def test_silent_when_batching_first_gives_another_batch() -> None:
    other = first(3 * MS, same=False)
    assert RULE.detect(view(slow_pipeline(*MAPPED, found=[other]))) is None


def test_silent_when_the_step_is_as_long() -> None:
    assert RULE.detect(view(slow_pipeline(*MAPPED, frozen=30 * MS, found=[first(3 * MS)]))) is None


def test_silent_when_the_generator_itself_takes_the_time() -> None:
    assert RULE.detect(generated(150_000)) is None


def test_silent_when_a_batch_has_few_elements() -> None:
    assert RULE.detect(generated(1_000, per_batch=3.0)) is None


def test_batching_first_is_safe_and_priced_by_the_trial() -> None:
    found = RULE.detect(view(slow_pipeline(*MAPPED, found=[first(6 * MS)])))
    assert found is not None
    assert found.gain.value == pytest.approx(5.0, rel=0.05)
    assert found.cure.safety == "safe"
    assert found.where is not None
    assert found.where.line == 101


def test_batching_first_that_rounds_otherwise_is_unsafe() -> None:
    rounded = first(6 * MS, same=False, close=True)
    found = RULE.detect(view(slow_pipeline(*MAPPED, found=[rounded])))
    assert found is not None
    assert found.cure.safety == "unsafe"
    assert "except for rounding" in found.cure.summary


def test_arrays_instead_of_shuffled_rows_change_the_order() -> None:
    arrays = tried(AsArrays, 10 * MS, 30 * MS, stage=0, source=2)
    found = RULE.detect(view(slow_pipeline(*ROWS, found=[arrays])))
    assert found is not None
    assert found.gain.value == pytest.approx(3.0, rel=0.05)
    assert found.cure.safety == "unsafe"
    assert found.where is not None
    assert found.where.line == 102


def test_the_best_of_the_ways_is_the_cure() -> None:
    arrays = tried(AsArrays, 10 * MS, 30 * MS, stage=0, source=2)
    found = RULE.detect(view(slow_pipeline(*MAPPED, found=[arrays, first(6 * MS)])))
    assert found is not None
    assert found.evidence["changed"] == "map after batch"


def test_a_quick_generator_of_rows_pays_for_the_crossing() -> None:
    found = RULE.detect(generated(1_000))
    assert found is not None
    # Two crossings of 186 us and 32 us of the generator itself, below the step of 1 ms.
    assert found.gain.value == pytest.approx(6.0, rel=0.1)
    assert found.where is not None
    assert found.where.line == 101


def test_rows_in_chunks_are_not_offered_where_they_gain_nothing() -> None:
    assert chunks(5.9 * MS, repeats=True).partly is None
    alone = RULE.detect(generated(1_000))
    assert alone is not None
    assert alone.partly is None


def test_rows_in_chunks_are_what_an_edit_can_do() -> None:
    found = chunks(3 * MS, repeats=True)
    part = found.partly
    assert part is not None
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
    part = chunks(3 * MS, repeats=False).partly
    assert part is not None
    assert part.cure.safety == "unsafe"


def test_the_python_rule_leaves_the_crossing_to_this_one_and_takes_the_rest() -> None:
    assert PYTHON_BOUND.detect(generated(1_000)) is None
    assert PYTHON_BOUND.detect(generated(150_000)) is not None


def test_every_map_before_the_batch_is_moved_after_it() -> None:
    stages = (
        stage("prefetch", 0),
        stage("batch", 1),
        stage("map", 2),
        stage("shuffle", 3),
        stage("map", 4),
        stage("filter", 5),
        stage("map", 6),
        stage("range", 7, inputs=()),
    )
    found = RULE.detect(view(slow_pipeline(*stages, found=[first(6 * MS, stage=2)])))
    assert found is not None
    # The nearest first; a filter needs the elements that the map above it makes.
    assert found.cure.edits == (
        SwapCalls(Where("/user/data.py", 102), "map", "batch"),
        SwapCalls(Where("/user/data.py", 104), "map", "batch"),
    )


def test_no_edit_where_a_map_was_written_unseen() -> None:
    stages = (stage("batch", 0), stage("map", 1, file=None), stage("range", 2, inputs=()))
    found = RULE.detect(view(slow_pipeline(*stages, found=[first(6 * MS)])))
    assert found is not None
    assert found.cure.edits == ()


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "takes at most 50 % of what its elements cost" in RULE.page
    assert "4 elements or more" in RULE.page
