"""evaluate between the steps of a loop is part of an iteration; the parts still sum."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.records import CallRow, RecordedWorkload
from fitdoctor.diagnosis import diagnose
from synthetic import MS, fit_workload, recording

EVERY = 10
EVALUATE = 300 * MS
STEP = 5 * MS


def call(t: int, dur: int, steps: int) -> CallRow:
    return CallRow(
        t=t,
        dur=dur,
        steps=steps,
        start_up=0,
        validation=0,
        epoch_callbacks=0,
        batch_callbacks=0,
        step=dur,
        wait=0,
        epochs=1,
    )


def loop(count: int = 200, *, steps: int = 280, times: int | None = None):
    """train_on_batch in a loop, and evaluate after every tenth call."""
    t, trained, evaluated = 10**9, [], []
    for number in range(1, count + 1):
        trained.append(call(t, STEP, 1))
        t += STEP
        if number % EVERY == 0 and (times is None or len(evaluated) < times):
            evaluated.append(call(t, EVALUATE, steps))
            t += EVALUATE
    train = replace(
        fit_workload(kind="train_on_batch", steps=count), calls=tuple(trained), number=1, line=69
    )
    evaluate = replace(
        fit_workload(kind="evaluate", steps=steps), calls=tuple(evaluated), number=2, line=72
    )
    return recording(train, evaluate)


def trained_of(made) -> RecordedWorkload:
    return made.workloads[0]


def test_it_is_a_part_of_the_iteration_and_the_parts_sum() -> None:
    made = loop()
    seen = view_of(made, trained_of(made))
    assert seen is not None
    assert seen.costs.parts["validation"] == pytest.approx(EVALUATE / EVERY, rel=0.1)
    assert math.isclose(sum(seen.costs.parts.values()), seen.costs.total.value, rel_tol=1e-9)


def test_it_is_no_workload_of_its_own() -> None:
    judged = diagnose(loop())
    assert [one.kind for one in judged.workloads] == ["train_on_batch"]
    assert judged.workloads[0].findings[0].rule == "CB002"
    assert judged.workloads[0].findings[0].where.line == 72
    assert judged.workloads[0].findings[0].how == "bound"


def test_one_evaluation_is_the_scripts_own() -> None:
    made = loop(times=1)
    seen = view_of(made, trained_of(made))
    assert seen is not None and "validation" not in seen.costs.parts


def test_calls_of_a_few_batches_are_call_per_sample() -> None:
    made = loop(steps=1)
    seen = view_of(made, trained_of(made))
    assert seen is not None and "validation" not in seen.costs.parts


def test_time_that_a_loop_already_holds_is_moved_not_added() -> None:
    made = loop()
    marked = replace(trained_of(made), kind="loop", calls=())
    moved = replace(made, workloads=(marked, made.workloads[1]))
    before = view_of(replace(made, workloads=(marked,)), marked)
    after = view_of(moved, marked)
    assert before is not None and after is not None
    assert after.costs.total == before.costs.total
    assert after.costs.parts["validation"] > 0
    assert math.isclose(sum(after.costs.parts.values()), after.costs.total.value, rel_tol=1e-9)
