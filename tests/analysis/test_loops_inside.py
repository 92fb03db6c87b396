"""A loop inside another is no code of the user's around the outer one's step."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fitdoctor.analysis.build_view import view_of
from synthetic import MS, fit_workload, recording


def loops(inner_ms: int):
    """A generator every 100 ms; between two of its steps, four of a critic."""
    outer = fit_workload(
        kind="loop",
        period=100 * MS,
        step=5 * MS,
        wait=None,
        steps=50,
        detail={"marker": "optimizer"},
    )
    inner = fit_workload(
        kind="loop",
        period=inner_ms * MS,
        step=inner_ms * MS,
        wait=None,
        steps=5000 // inner_ms,
        detail={"marker": "optimizer"},
    )
    return recording(outer, replace(inner, number=2, line=9))


def test_its_time_is_a_part_of_its_own_and_the_parts_sum() -> None:
    made = loops(25)
    seen = view_of(made, made.workloads[0])
    assert seen is not None
    assert seen.costs.parts["loop_inside"] == pytest.approx(95 * MS, rel=0.1)
    assert math.isclose(sum(seen.costs.parts.values()), seen.costs.total.value, rel_tol=1e-9)


def test_one_loop_alone_has_no_such_part() -> None:
    made = loops(25)
    seen = view_of(replace(made, workloads=made.workloads[:1]), made.workloads[0])
    assert seen is not None and "loop_inside" not in seen.costs.parts
