"""What Watch logs, and what it says where it cannot."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import diagnoses
import pytest

from fitdoctor.contract.errors import UsageError
from fitdoctor.inside.seams.watch.entered_fit import entered_fit
from fitdoctor.library.trackers import MLflow, TensorBoard, WeightsAndBiases, in_words, measured
from fitdoctor.library.watch import chosen_trackers


def test_what_was_not_measured_is_not_logged() -> None:
    values = measured(diagnoses.healthy_workload(ceiling=None, step=None))
    assert values == {
        "fitdoctor/step_ms": 40.0,
        "fitdoctor/input_wait_ms": 0.0,
        "fitdoctor/unknown_ms": 1.0,
        "fitdoctor/step_total_ms": 41.0,
    }
    assert in_words(diagnoses.healthy_workload())["fitdoctor/findings"] == "none"


def test_findings_are_logged_with_their_gains() -> None:
    words = in_words(diagnoses.slow_workload())
    assert words["fitdoctor/verdict"] == "input-bound"
    assert words["fitdoctor/findings"].startswith("IN002 serial-reads 2.4×")


def test_without_an_active_run_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=None))
    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(active_run=lambda: None))
    assert "call wandb.init()" in WeightsAndBiases().log({}, {})
    assert "call mlflow.start_run()" in MLflow().log({}, {})


def test_what_is_not_installed_is_said_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def find_spec(name: str, *more: Any) -> Any:
        return None if name == "wandb" else real(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    with pytest.raises(UsageError, match=r"pip install 'fitdoctor\[wandb\]'"):
        chosen_trackers(None, wandb=True, mlflow=False)
    assert chosen_trackers(None, wandb=False, mlflow=False) == ()


def test_tensorboard_reads_scalars_and_words(tmp_path: Path) -> None:
    tracker = TensorBoard(tmp_path)
    tracker.check()
    workload = diagnoses.slow_workload()
    for _ in range(2):
        assert tracker.log(measured(workload), in_words(workload)) == ""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(tmp_path / "fitdoctor"))
    read.Reload()
    scalars = read.Scalars("fitdoctor/step_ms")
    assert [one.step for one in scalars] == [0, 1]
    (verdict, _) = read.Tensors("fitdoctor/verdict")
    assert verdict.tensor_proto.string_val == [b"input-bound"]


def test_arguments_of_a_running_fit_are_seen_and_of_no_other() -> None:
    class Model:
        def fit(self, x: Any, y: Any = None, epochs: int = 1) -> Any:
            epoch_iterator = "the iterator"
            assert epoch_iterator
            return (lambda: entered_fit(model))()

    model = Model()
    assert model.fit([1]) == ({"x": [1], "epochs": 1}, "the iterator")
    assert Model().fit([1]) == ({}, None)
    assert entered_fit(model) == ({}, None)
