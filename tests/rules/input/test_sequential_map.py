from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.contract.evidence.pipeline import ParallelMap
from fitdoctor.findings.edits import TENSORFLOW, SetKeyword
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.sequential_map import RULE
from synthetic import MS, slow_pipeline, stage, tried, view

STAGES = (
    stage("batch", 0),
    stage("map", 1, random=True),
    stage("from_tensor_slices", 2, inputs=()),
)


def finding(ns: float, *, cores: float = 1.9, stages: Any = STAGES, **more: Any) -> Finding | None:
    trial = tried(ParallelMap, ns, 30 * MS, stage=1, own_cores=cores)
    return RULE.detect(view(slow_pipeline(*stages, found=[trial], **more)))


def test_silent_without_a_trial_that_helped() -> None:
    assert RULE.detect(view(slow_pipeline(*STAGES))) is None
    assert finding(30 * MS) is None


def test_a_map_beside_a_step_that_needs_all_cores_gains_nothing() -> None:
    assert finding(16 * MS, cores=2.0, frozen=30 * MS) is None


def test_a_random_map_gains_what_the_trial_gave() -> None:
    found = finding(16 * MS)
    assert found is not None
    assert found.gain.value == pytest.approx(30 / 16, rel=0.1)
    assert found.cure.safety == "unsafe"
    assert found.where is not None
    assert found.where.line == 101


def test_only_the_serial_random_maps_get_parallel_calls() -> None:
    stages = (
        stage("map", 0, random=True, parallel=-1),
        stage("map", 1, random=True),
        stage("map", 2),
        stage("range", 3, inputs=()),
    )
    found = finding(16 * MS, stages=stages)
    assert found is not None
    where, value = Where("/user/data.py", 101), "tf.data.AUTOTUNE"
    assert found.cure.edits == (
        SetKeyword(where, "map", "num_parallel_calls", value, 1, (TENSORFLOW,)),
    )


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "a frozen batch gains 10 % or more" in RULE.page
