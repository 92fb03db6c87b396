from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from fitdoctor.planning.bounds import Machine, Step, Work, bound

MS = 1e6


def test_a_pipeline_faster_than_the_step_is_left_alone() -> None:
    found = bound([Work(0, 1 * MS)], Machine(2), Step(10 * MS, 0.5))
    assert (found.ns, found.binding) == (10 * MS, "the step itself")
    assert (found.calls, found.pool) == ((), None)


def test_waiting_is_shared_until_the_step_is_the_limit() -> None:
    reads = Work(1, 0.2 * MS, wait_ns=128 * MS, parallel=True)
    found = bound([reads], Machine(2), Step(10 * MS, 0.5))
    assert found.ns == 10 * MS
    assert found.calls == ((1, 13),)
    assert found.pool == 13  # more than the two threads that tf.data has


def test_waiting_is_shared_by_so_many_calls_at_most() -> None:
    reads = Work(1, 0.0, wait_ns=640 * MS, parallel=True)
    found = bound([reads], Machine(2), Step(1 * MS, 0.5))
    assert found.ns == pytest.approx(10 * MS)
    assert found.calls == ((1, 64),)


def test_native_work_is_spread_over_the_cores_beside_the_step() -> None:
    found = bound([Work(1, 40 * MS, parallel=True)], Machine(4), Step(10 * MS, 1.0))
    assert found.ns == pytest.approx(12.5 * MS)
    assert found.binding == "CPU time"
    assert (found.calls, found.pool) == (((1, 4),), None)


def test_python_is_bound_by_its_lock_however_many_calls() -> None:
    found = bound([Work(1, 40 * MS, python=True, parallel=True)], Machine(8), Step(1 * MS))
    assert (found.ns, found.binding) == (40 * MS, "Python's lock")


def test_a_serial_stage_is_its_own_limit() -> None:
    found = bound([Work(1, 30 * MS)], Machine(8), Step(1 * MS))
    assert (found.ns, found.binding) == (30 * MS, "a stage that runs one call at a time")


costs = st.floats(0.0, 1e9)
stage_lists = st.lists(
    st.builds(
        Work,
        number=st.integers(0, 9),
        cpu_ns=costs,
        wait_ns=costs,
        python=st.booleans(),
        parallel=st.booleans(),
    ),
    max_size=5,
)


@given(stage_lists, st.integers(1, 32), st.floats(1.0, 1e9))
def test_more_cores_never_make_it_slower(stages: list[Work], cores: int, step_ns: float) -> None:
    few = bound(stages, Machine(cores), Step(step_ns))
    many = bound(stages, Machine(2 * cores), Step(step_ns))
    assert step_ns <= many.ns <= few.ns * 1.001
