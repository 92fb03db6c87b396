"""Which experiments a fit gets: chosen by what the ones before them found."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.inside.lab import fit_probes
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.lab.fit_probes import FitExamination

MS = 1_000_000
CPU: Data = {"kind": "cpu", "replicas": 1}
GPU: Data = {"kind": "gpu", "replicas": 1}
LOADER = {"ns": [9_000], "first_batch_ns": 20_000}


class Scripted(FitExamination):
    """Every experiment answers what the test says, and none is run."""

    def __init__(
        self, answers: dict[str, Data], *, backend: str, period_ns: float | None, **call: Any
    ) -> None:
        self.asked: list[str] = []
        self._answers = {"input": {"kind": "arrays"}, **answers}
        details = {
            "model": SimpleNamespace(run_eagerly=False),
            "arguments": {},
            "executions": 1,
            "epochs": 1,
            "steps": 100,
            "validation": 0,
            "step_total": 1,
            "source": None,
            "epoch_iterator": None,
            "workload": SimpleNamespace(number=1, steps=0),
            **call,
        }
        super().__init__(
            SimpleNamespace(compiled_with={}),  # type: ignore[arg-type]
            SimpleNamespace(name=backend),  # type: ignore[arg-type]
            SimpleNamespace(**details),  # type: ignore[arg-type]
            may_consume=True,
            period_ns=period_ns,
            hdf5=SimpleNamespace(),  # type: ignore[arg-type]
        )
        self._batch = object()

    def _probe(self, name: str, experiment: Callable[[], Data]) -> Data | None:
        self.asked.append(name)
        return self._answers.get(name)

    def _probe_model(self, step_ns: float) -> None:
        self.asked.append("model")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The names of the experiments, in order."""

    def examine(
        step_ms: float | None,
        period_ms: float | None,
        *,
        backend: str = "jax",
        device: Data = CPU,
        answers: dict[str, Data] | None = None,
        **call: Any,
    ) -> list[str]:
        monkeypatch.setattr(fit_probes, "SETTLE_S", 0.0)
        monkeypatch.setattr(fit_probes, "device_facts", lambda _: device)
        monkeypatch.setattr(fit_probes, "eager_switch", lambda _: None)
        monkeypatch.setattr(fit_probes.input_probes, "probe_hdf5", lambda *_: None)
        frozen = {} if step_ms is None else {"frozen_batch": {"ns": [step_ms * MS]}}
        examination = Scripted(
            {**frozen, "device": device, **(answers or {})},
            backend=backend,
            period_ns=None if period_ms is None else period_ms * MS,
            **call,
        )
        examination._probe_all()
        return examination.asked

    return examine


def test_a_step_that_explains_the_training_has_no_input_probed(asked: Any) -> None:
    assert "loader_alone" not in asked(50, 51)


def test_a_long_step_is_not_started_in_other_ways(asked: Any) -> None:
    found = asked(50, 51)
    assert "batch_scaling" not in found
    assert found[-1] == "model"


def test_training_longer_than_its_step_has_its_input_probed(asked: Any) -> None:
    found = asked(50, 100, answers={"loader_alone": LOADER})
    assert found.count("loader_alone") == 1
    assert "frozen_again" in found


def test_without_a_step_only_the_input_is_probed(asked: Any) -> None:
    found = asked(None, 20)
    assert "loader_alone" in found
    assert not {"graph_trial", "batch_scaling", "model"} & set(found)


def test_a_short_step_is_scaled_and_started_in_other_ways(asked: Any) -> None:
    found = asked(0.2, 0.5, answers={"loader_alone": LOADER})
    assert {"frozen_in_loop", "batch_scaling", "steps_per_execution_10"} <= set(found)


def test_steps_that_wait_for_slow_data_are_not_started_together(asked: Any) -> None:
    found = asked(0.2, 9, answers={"loader_alone": {"ns": [8 * MS], "first_batch_ns": MS}})
    assert "batch_scaling" in found
    assert "steps_per_execution_10" not in found


def test_an_eager_step_is_compiled_and_its_input_timed_for_that(asked: Any) -> None:
    found = asked(23, 23, model=SimpleNamespace(run_eagerly=True))
    assert found.index("graph_trial") < found.index("loader_alone")
    assert not {"batch_scaling", "model"} & set(found)


def test_the_input_of_an_eager_step_is_timed_once(asked: Any) -> None:
    eager = SimpleNamespace(run_eagerly=True)
    found = asked(23, 46, model=eager, answers={"loader_alone": LOADER})
    assert found.count("loader_alone") == 1


def test_torch_is_eager_by_nature(asked: Any) -> None:
    found = asked(23, 23, backend="torch", model=SimpleNamespace(run_eagerly=True))
    assert "graph_trial" not in found


def test_keras_loop_is_timed_alone_where_a_step_may_hide_behind_it(asked: Any) -> None:
    assert "loop_alone" in asked(0.2, 0.3)
    assert "loop_alone" not in asked(2, 2)
    assert "loop_alone" not in asked(0.2, 0.3, backend="tensorflow")


def test_a_gpu_that_works_all_the_time_is_not_kept_waiting_by_the_start(asked: Any) -> None:
    busy = {"device_time": {"busy_ns": 4.9 * MS}}
    assert "batch_scaling" not in asked(5, 5, device=GPU, answers=busy)


def test_a_gpu_that_waits_has_steps_started_in_other_ways(asked: Any) -> None:
    idle = {"device_time": {"busy_ns": 0.5 * MS}}
    assert "batch_scaling" in asked(5, 5, device=GPU, answers=idle)


def test_device_memory_that_ran_out_is_tried_with_part_of_the_batch(asked: Any) -> None:
    assert "part_of_batch" not in asked(50, 50, device=GPU)
    assert "part_of_batch" in asked(50, 50, device={**GPU, "memory_retries": 3})


def test_a_model_on_several_devices_runs_no_step_of_ours(asked: Any) -> None:
    found = asked(5, 5, device={"kind": "cpu", "replicas": 2})
    assert found == ["input", "threads", "frozen_batch", "device"]


def test_validation_that_matters_is_tried_in_other_batches(asked: Any) -> None:
    assert "validation_batches" not in asked(50, 50, validation=5, step_total=95)
    assert "validation_batches" in asked(50, 50, validation=50, step_total=50)
