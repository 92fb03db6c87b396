from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.findings.edits import TENSORFLOW, SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.in012 import RULE as SEQUENTIAL
from fitdoctor.rules.in013 import RULE as ON_THE_HOST
from synthetic import MS, slow_pipeline, stage, trial, view

STAGES = (
    stage("batch", 0),
    stage("map", 1, random=True),
    stage("from_tensor_slices", 2, inputs=[]),
)
ROWS = [{"n": 1, "per_batch": 32.0, "ns": 30 * MS, "own_ns": 25 * MS, "own_cpu_ns": 25 * MS}]


def test_a_map_is_left_alone_without_a_trial_that_helped() -> None:
    assert SEQUENTIAL.detect(view(slow_pipeline(*STAGES))) is None
    same = trial(30 * MS, 30 * MS, stage=1)
    assert (
        SEQUENTIAL.detect(view(slow_pipeline(*STAGES, probes={"trial_parallel_map": same}))) is None
    )


def test_a_map_beside_a_step_that_needs_all_cores_gains_nothing() -> None:
    tried = trial(16 * MS, 30 * MS, stage=1, own_cores=2.0)
    workload = slow_pipeline(*STAGES, frozen=30 * MS, probes={"trial_parallel_map": tried})
    assert SEQUENTIAL.detect(view(workload)) is None


def test_a_random_map_gains_what_the_trial_gave() -> None:
    tried = trial(16 * MS, 30 * MS, stage=1, own_cores=1.9)
    found = SEQUENTIAL.detect(view(slow_pipeline(*STAGES, probes={"trial_parallel_map": tried})))
    assert found is not None
    assert found.gain.value == pytest.approx(30 / 16, rel=0.1)
    assert found.cure.safety == "unsafe"
    assert found.where.line == 101


def on_accelerator(cores: float, accelerators: int, random: bool = True):
    stages = [replaced(one, random and one["n"] == 1) for one in STAGES]
    seen = view(slow_pipeline(*stages, rows=ROWS, cores=cores))
    return replace(seen, accelerators=accelerators)


def replaced(one: dict, random: bool) -> dict:
    return {**one, "random": random}


def test_augmentation_on_the_host_is_right_without_an_accelerator() -> None:
    assert ON_THE_HOST.detect(on_accelerator(1.9, 0)) is None


def test_idle_cores_or_no_random_stage_are_another_cause() -> None:
    assert ON_THE_HOST.detect(on_accelerator(0.9, 1)) is None
    assert ON_THE_HOST.detect(on_accelerator(1.9, 1, random=False)) is None


def test_augmentation_that_fills_the_cores_belongs_into_the_model() -> None:
    found = ON_THE_HOST.detect(on_accelerator(1.9, 1))
    assert found is not None
    assert found.gain.low > 1.05
    assert found.where.line == 101


def test_only_the_serial_random_maps_get_parallel_calls() -> None:
    stages = (
        stage("map", 0, random=True, parallel=-1),
        stage("map", 1, random=True),
        stage("map", 2),
        stage("range", 3, inputs=[]),
    )
    tried = trial(16 * MS, 30 * MS, stage=1, own_cores=1.9)
    found = SEQUENTIAL.detect(view(slow_pipeline(*stages, probes={"trial_parallel_map": tried})))
    assert found is not None
    where, value = Where("/user/data.py", 101), "tf.data.AUTOTUNE"
    assert found.cure.edits == (
        SetKeyword(where, "map", "num_parallel_calls", value, 1, (TENSORFLOW,)),
    )
