from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from benchmarks.planner import Machine, Step, Work, best_plan, solve

MS = 1e6


def test_a_pipeline_faster_than_the_step_is_left_alone() -> None:
    plan = best_plan([Work(0, "map", 1 * MS)], Machine(2), Step(10 * MS, 0.5))
    assert plan.step_ns == 10 * MS
    assert plan.binding == "the step itself"
    assert (plan.cache_after, plan.batch_first, plan.calls, plan.pool) == (None, False, (), None)
    assert plan.sentence() == "then the step itself is the limit"


def test_waiting_is_shared_until_the_step_is_the_limit() -> None:
    reads = Work(1, "map", 0.2 * MS, wait_ns=128 * MS, parallel=True)
    plan = solve([reads], Machine(2), Step(10 * MS, 0.5))
    assert plan.step_ns == 10 * MS
    assert plan.calls == ((1, 13),)
    assert plan.pool == 13  # more than the two threads that tf.data has


def test_waiting_is_shared_by_so_many_calls_at_most() -> None:
    reads = Work(1, "map", 0.0, wait_ns=640 * MS, parallel=True)
    plan = solve([reads], Machine(2), Step(1 * MS, 0.5))
    assert plan.step_ns == pytest.approx(10 * MS)
    assert plan.calls == ((1, 64),)


def test_native_work_is_spread_over_the_cores_beside_the_step() -> None:
    work = Work(1, "map", 40 * MS, parallel=True)
    plan = solve([work], Machine(4), Step(10 * MS, 1.0))
    assert plan.step_ns == pytest.approx(12.5 * MS)
    assert plan.binding == "CPU time"
    assert plan.calls == ((1, 4),)
    assert plan.pool is None


def test_python_is_bound_by_its_lock_however_many_calls() -> None:
    work = Work(1, "map", 40 * MS, python=True, parallel=True)
    plan = solve([work], Machine(8), Step(1 * MS))
    assert (plan.step_ns, plan.binding) == (40 * MS, "Python's lock")


def test_a_serial_stage_is_its_own_limit() -> None:
    plan = solve([Work(1, "from_generator", 30 * MS)], Machine(8), Step(1 * MS))
    assert plan.step_ns == 30 * MS
    assert plan.binding == "a stage that runs one call at a time"


def decode(output: float | None = 1e8) -> list[Work]:
    return [
        Work(2, "range", 0.1 * MS, cacheable=True, elements=32),
        Work(1, "map", 60 * MS, parallel=True, cacheable=True, elements=32, output_bytes=output),
        Work(0, "batch", 0.5 * MS),
    ]


def test_a_cache_behind_the_work_where_it_fits() -> None:
    plan = best_plan(decode(), Machine(2, 8e9), Step(2 * MS, 1.0))
    assert plan.cache_after == 1
    assert plan.step_ns == pytest.approx(2 * MS, rel=0.2)


@pytest.mark.parametrize("output", [6e9, None])
def test_no_cache_where_it_does_not_fit_or_its_size_is_unknown(output: float | None) -> None:
    plan = best_plan(decode(output), Machine(2, 8e9), Step(2 * MS, 1.0))
    assert plan.cache_after is None
    assert plan.step_ns == pytest.approx((60.6 + 2) / 2 * MS)


def test_no_cache_behind_a_random_stage() -> None:
    stages = [
        Work(2, "range", 0.1 * MS, cacheable=True),
        Work(1, "map", 60 * MS, random=True, parallel=True, cacheable=True, output_bytes=1.0),
    ]
    assert best_plan(stages, Machine(2, 8e9), Step(MS)).cache_after is None


def test_batching_first_where_it_is_faster() -> None:
    stages = [Work(1, "map", 20 * MS)]
    plan = best_plan(stages, Machine(2), Step(1 * MS), batched=[Work(1, "map", 3 * MS)])
    assert plan.batch_first
    assert plan.step_ns == 3 * MS


costs = st.floats(0.0, 1e9)
stage_lists = st.lists(
    st.builds(
        Work,
        number=st.integers(0, 9),
        op=st.just("map"),
        cpu_ns=costs,
        wait_ns=costs,
        python=st.booleans(),
        parallel=st.booleans(),
        cacheable=st.booleans(),
        output_bytes=st.one_of(st.none(), costs),
    ),
    max_size=5,
)


@given(stage_lists, st.integers(1, 64), st.floats(1.0, 1e9))
def test_no_plan_is_below_a_bound_or_slower_than_no_plan(
    stages: list[Work], cores: int, step_ns: float
) -> None:
    machine, step = Machine(cores, 1e9), Step(step_ns)
    as_written = solve(stages, machine, step)
    plan = best_plan(stages, machine, step)
    assert step_ns <= plan.step_ns <= as_written.step_ns * 1.001


@given(stage_lists, st.integers(1, 32), st.floats(1.0, 1e9))
def test_more_cores_never_make_it_slower(stages: list[Work], cores: int, step_ns: float) -> None:
    few = solve(stages, Machine(cores), Step(step_ns))
    many = solve(stages, Machine(2 * cores), Step(step_ns))
    assert many.step_ns <= few.step_ns * 1.001
