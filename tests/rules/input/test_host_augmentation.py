from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import AugmentationInLoader, InputFacts
from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.contract.evidence.pipeline import StageTime
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.host_augmentation import RULE
from fitdoctor.rules.input.python_bound_loader import RULE as PYTHON_BOUND
from synthetic import MS, fit_workload, loader, noisy, slow_pipeline, stage, timed, view


def in_pipeline(cores: float, accelerators: int = 1, *, random: bool = True) -> View:
    stages = (
        stage("batch", 0),
        stage("map", 1, random=random),
        stage("from_tensor_slices", 2, inputs=()),
    )
    row = StageTime(
        n=1,
        per_batch=32.0,
        ns=30 * MS,
        cpu_ns=30 * MS,
        own_ns=25 * MS,
        own_cpu_ns=25 * MS,
    )
    seen = view(slow_pipeline(*stages, rows=[row], cores=cores))
    return replace(seen, accelerators=accelerators)


def calling_layers(share: float, in_model: float = 2.4, accelerators: int = 1) -> View:
    """A PyDataset of 30 ms a batch, part of it in layers; the step takes 2 ms, with them more."""
    found = (
        timed(FrozenBatch, 2 * MS),
        loader(30 * MS, user_share=0.9),
        InputFacts(kind="PyDataset", file="/user/data.py", line=12, workers=1),
        AugmentationInLoader(
            batch_ns=30 * MS,
            layers_ns=round(30 * MS * share),
            share=share,
            layers=("RandomFlip", "RandomZoom", "RandomFlip"),
        ),
        ("augmented", timed(ChangedStep, in_model * MS, base_ns=noisy(2 * MS))),
    )
    workload = fit_workload(
        period=32 * MS, step=2 * MS, wait=30 * MS, found=found, detail={"backend": "jax"}
    )
    return replace(view(workload, backend="jax"), accelerators=accelerators)


def test_silent_without_an_accelerator() -> None:
    assert RULE.detect(in_pipeline(1.9, 0)) is None


def test_idle_cores_or_no_random_stage_are_another_cause() -> None:
    assert RULE.detect(in_pipeline(0.9)) is None
    assert RULE.detect(in_pipeline(1.9, random=False)) is None


def test_layers_in_the_loader_are_right_where_they_cost_little_or_nothing_else_computes() -> None:
    assert RULE.detect(calling_layers(0.1)) is None
    assert RULE.detect(calling_layers(0.9, accelerators=0)) is None


def test_layers_that_take_as_long_in_the_model_are_better_not_moved() -> None:
    stays = calling_layers(0.9, in_model=28.0)
    assert RULE.detect(stays) is None
    assert PYTHON_BOUND.detect(stays) is not None


def test_augmentation_that_fills_the_cores_belongs_into_the_model() -> None:
    found = RULE.detect(in_pipeline(1.9))
    assert found is not None
    assert found.gain.low > 1.05
    assert found.where is not None
    assert found.where.line == 101
    assert found.cure.safety == "unsafe"


def test_layers_in_the_loader_are_priced_as_tried_in_the_model() -> None:
    found = RULE.detect(calling_layers(0.9))
    assert found is not None
    assert "RandomFlip, RandomZoom take 27.0 ms of the 30.0 ms" in found.message
    # 32 ms become 3 ms of loading and 2.4 ms of computing, in turns.
    assert found.gain.value == pytest.approx(32 / 5.4, rel=0.15)
    assert found.where == Where("/user/data.py", 12)


def test_the_same_cause_is_not_named_twice() -> None:
    assert PYTHON_BOUND.detect(calling_layers(0.9)) is None
    assert PYTHON_BOUND.detect(calling_layers(0.1)) is not None
    assert PYTHON_BOUND.detect(calling_layers(0.9, accelerators=0)) is not None


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "at least 80 % of the cores" in RULE.page
    assert "10 (2 to 50)" in RULE.page
