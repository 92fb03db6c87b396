from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.findings.edits import TENSORFLOW, SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.host_augmentation import RULE as ON_THE_HOST
from fitdoctor.rules.input.python_bound_loader import RULE as PYTHON_BOUND
from fitdoctor.rules.input.sequential_map import RULE as SEQUENTIAL
from synthetic import MS, fit_workload, loader, slow_pipeline, stage, trial, view, windows

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


def calling_layers(share: float, in_model: float = 2.4, accelerators: int = 1):
    """A PyDataset of 30 ms a batch, part of it in layers; the step takes 2 ms, with them more."""
    probes = {
        "frozen_batch": windows(2 * MS),
        "loader_alone": loader(30 * MS, user_share=0.9),
        "input": {"kind": "PyDataset", "file": "/user/data.py", "line": 12, "workers": 1},
        "augmentation": {
            "batch_ns": 30 * MS,
            "layers_ns": round(30 * MS * share),
            "share": share,
            "layers": ["RandomFlip", "RandomZoom", "RandomFlip"],
        },
        "step_augmented": {**windows(in_model * MS), "base_ns": windows(2 * MS)["ns"]},
    }
    workload = fit_workload(
        period=32 * MS, step=2 * MS, wait=30 * MS, probes=probes, detail={"backend": "jax"}
    )
    return replace(view(workload, backend="jax"), accelerators=accelerators)


def test_layers_in_the_loader_are_right_where_they_cost_little_or_nothing_else_computes() -> None:
    assert ON_THE_HOST.detect(calling_layers(0.1)) is None
    assert ON_THE_HOST.detect(calling_layers(0.9, accelerators=0)) is None


def test_layers_in_the_loader_are_priced_as_tried_in_the_model() -> None:
    found = ON_THE_HOST.detect(calling_layers(0.9))
    assert found is not None
    assert "RandomFlip, RandomZoom take 27.0 ms of the 30.0 ms" in found.message
    # 32 ms become 3 ms of loading and 2.4 ms of computing, in turns.
    assert found.gain.value == pytest.approx(32 / 5.4, rel=0.15)
    assert found.where == Where("/user/data.py", 12)


def test_the_same_cause_is_not_named_twice() -> None:
    assert PYTHON_BOUND.detect(calling_layers(0.9)) is None
    assert PYTHON_BOUND.detect(calling_layers(0.1)) is not None
    assert PYTHON_BOUND.detect(calling_layers(0.9, accelerators=0)) is not None


def test_layers_that_take_as_long_in_the_model_are_better_not_moved() -> None:
    stays = calling_layers(0.9, in_model=28.0)
    assert ON_THE_HOST.detect(stays) is None
    assert PYTHON_BOUND.detect(stays) is not None
