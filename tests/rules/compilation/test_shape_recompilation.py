from __future__ import annotations

from dataclasses import replace

import pytest
from traces import compiling, jax_loop

from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import Event, EventDetail
from fitdoctor.rules.compilation.shape_recompilation import RULE
from fitdoctor.rules.support.batch_shapes import FEW_SHAPES
from synthetic import MS, call_group, fit_workload, timed, view, with_found


def shapes(count: int) -> list[str]:
    return [f"float32[8, {n}]" for n in range(count)]


def only_compiles(*, models: int = 1):
    """Every step compiles for a new shape, for each of so many models."""
    different = shapes(200 // models)
    workload = compiling(different, every=1)
    events = tuple(
        replace(event, detail=replace(event.detail, model=i // len(different)))
        for i, event in enumerate(workload.events)
    )
    recorded = with_found(replace(workload, events=events), timed(FrozenBatch, 2 * MS))
    return view(recorded, backend="jax")


def calls_of_new_lengths(every: int):
    """Calls of 40 ms, of which every so many take 240 ms and compile for a new shape."""
    group = call_group(kind="train_on_batch", period=300 * MS)
    calls, events = list(group.calls), []
    for i in range(0, len(calls), every):
        calls[i] = replace(calls[i], dur=240 * MS)
        detail = EventDetail(name="step", shapes=(f"float32[8, {i}]",), model=1)
        events.append(Event("compile", calls[i].t + 1, 200 * MS, i, 0, detail))
    return view(replace(group, calls=tuple(calls), events=tuple(events)), backend="jax")


def test_silent_without_compiles() -> None:
    assert RULE.detect(view(fit_workload(), backend="jax")) is None


def test_silent_where_one_shape_is_compiled_again_and_again() -> None:
    assert RULE.detect(view(compiling(shapes(1)), backend="jax")) is None


def test_silent_on_a_few_shapes() -> None:
    assert RULE.detect(view(compiling(shapes(FEW_SHAPES)), backend="jax")) is None
    assert RULE.detect(view(compiling(shapes(FEW_SHAPES + 1)), backend="jax")) is not None


def test_silent_where_a_function_is_jitted_again_each_time() -> None:
    assert RULE.detect(jax_loop()) is None


def test_many_shapes() -> None:
    finding = RULE.detect(view(compiling(shapes(50)), backend="jax"))
    assert finding is not None
    assert finding.evidence["shapes"] == 50
    assert finding.gain.value == pytest.approx(60 / 12, rel=0.1)
    assert finding.cure.safety == "unsafe"
    assert finding.cure.edits == ()


def test_a_loop_that_compiles_for_every_shape() -> None:
    finding = RULE.detect(jax_loop(shapes=lambda i: (f"float32[8, {i}]",)))
    assert finding is not None
    assert "60 batch shapes" in finding.message
    assert "float32[8, 0], float32[8, 59]" in finding.message


def test_calls_that_compile_are_compared_with_those_that_do_not() -> None:
    finding = RULE.detect(calls_of_new_lengths(every=2))
    assert finding is not None
    assert finding.evidence["compile_ns_per_step"] == pytest.approx(100 * MS, rel=0.1)


def test_where_nothing_but_compiling_is_done_the_frozen_step_is_left() -> None:
    finding = RULE.detect(only_compiles())
    assert finding is not None
    assert finding.gain.value == pytest.approx(210 / 2, rel=0.1)
    # A run of this length also pays for the two shapes that stay.
    assert finding.gain.low < 60


def test_shapes_that_every_new_model_compiles_stay_in_part() -> None:
    first, second = RULE.detect(only_compiles()), RULE.detect(only_compiles(models=10))
    assert first is not None
    assert second is not None
    # Two of twenty shapes are compiled for each model all the same.
    assert second.gain.value < 11 < first.gain.value


def test_the_page_says_how_many_shapes_are_few() -> None:
    assert f"more than {FEW_SHAPES} different batch shapes" in RULE.page
