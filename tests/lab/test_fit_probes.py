"""Which experiments a fit gets: chosen by what the ones before them found."""

from __future__ import annotations

from typing import Any

from fake_context import MS, FakeContext, FakeModel, fake_call, fake_context

from fitdoctor.contract.evidence.device import Device, DeviceTime
from fitdoctor.contract.evidence.loading import InputFacts, LoaderAlone
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.probe import NotAvailable, Probe
from fitdoctor.inside.lab.scheduler import Scheduler, all_probes

CPU = Device(kind="cpu")
GPU = Device(kind="gpu")
LOADER = LoaderAlone(ns=(9_000,), first_batch_ns=20_000)


class Scripted(Probe[Any]):
    """A real probe with its own conditions, that answers what the test says."""

    def __init__(self, probe: Probe[Any], answers: dict[str, object]) -> None:
        self.probe, self.answers = probe, answers
        names = ("phase", "after", "subjects", "on_spread_models", "needs_quiet", "longest_s")
        vars(self).update({name: getattr(probe, name) for name in names})

    @property
    def name(self) -> str:
        return self.probe.name

    def wanted(self, context: Any) -> bool:
        return self.probe.wanted(context)

    def run(self, context: Any) -> Any:
        if self.name not in self.answers:
            raise NotAvailable("not part of the test")
        return self.answers[self.name]


def asked(
    step_ms: float | None,
    period_ms: float | None,
    *answers: object,
    device: Device = CPU,
    **changes: Any,
) -> list[str]:
    """The names of the experiments, in order."""
    given: list[object] = [InputFacts(kind="arrays"), device, *answers]
    if step_ms is not None:
        given.append(FrozenBatch(ns=(step_ms * MS,)))
    by_name = {recorded_name(type(one)): one for one in given}
    context: FakeContext = fake_context(
        period_ns=None if period_ms is None else period_ms * MS, gpu=device.kind == "gpu", **changes
    )
    Scheduler([Scripted(probe, by_name) for probe in all_probes()], settle_s=0.0).examine(context)
    assert not [line for line in context.recorder.lines if line["k"] == "note"]
    return list(context.recorder.probes)


def test_a_step_that_explains_the_training_has_no_input_probed() -> None:
    assert "loader_alone" not in asked(50, 51)


def test_a_long_step_is_not_started_in_other_ways() -> None:
    found = asked(50, 51)
    assert "batch_scaling" not in found
    assert found[-3:] == ["layers", "operations", "machine_ceiling"]


def test_training_longer_than_its_step_has_its_input_probed() -> None:
    found = asked(50, 100, LOADER)
    assert found.count("loader_alone") == 1
    assert "frozen_again" in found


def test_without_a_step_only_the_input_is_probed() -> None:
    found = asked(None, 20)
    assert "loader_alone" in found
    assert not {"graph_trial", "batch_scaling", "step_python", "layers"} & set(found)


def test_a_short_step_is_scaled_and_started_in_other_ways() -> None:
    found = asked(0.2, 0.5, LOADER)
    assert {"frozen_in_loop", "batch_scaling", "steps_per_execution_10"} <= set(found)


def test_steps_that_wait_for_slow_data_are_not_started_together() -> None:
    found = asked(0.2, 9, LoaderAlone(ns=(8 * MS,), first_batch_ns=MS))
    assert "batch_scaling" in found
    assert "steps_per_execution_10" not in found


def test_an_eager_step_is_compiled_and_its_input_timed_for_that() -> None:
    # Beside a compiled step, which is far shorter, the input may matter.
    found = asked(23, 23, eager=True)
    assert {"graph_trial", "loader_alone"} <= set(found)
    assert not {"batch_scaling", "layers", "step_python", "frozen_again"} & set(found)


def test_the_input_of_an_eager_step_is_timed_once() -> None:
    assert asked(23, 46, LOADER, eager=True).count("loader_alone") == 1


def test_keras_loop_is_timed_alone_where_a_step_may_hide_behind_it() -> None:
    assert "loop_alone" in asked(0.2, 0.3)
    assert "loop_alone" not in asked(2, 2)
    assert "loop_alone" not in asked(0.2, 0.3, backend="tensorflow")


def test_a_gpu_that_works_all_the_time_is_not_kept_waiting_by_the_start() -> None:
    assert "batch_scaling" not in asked(5, 5, DeviceTime(busy_ns=4.9 * MS), device=GPU)


def test_a_gpu_that_waits_has_steps_started_in_other_ways() -> None:
    assert "batch_scaling" in asked(5, 5, DeviceTime(busy_ns=0.5 * MS), device=GPU)
    # Without a profile, only short steps are suspected.
    assert "batch_scaling" in asked(5, 5, device=GPU)
    assert "batch_scaling" not in asked(50, 50, device=GPU)


def test_device_time_is_read_on_a_gpu_only() -> None:
    assert "device_time" not in asked(5, 5)
    assert "device_time" in asked(5, 5, device=GPU)


def test_device_memory_that_ran_out_is_tried_with_part_of_the_batch() -> None:
    assert "part_of_batch" not in asked(50, 50, device=GPU)
    assert "part_of_batch" in asked(50, 50, device=Device(kind="gpu", memory_retries=3))


def test_a_model_on_several_devices_runs_no_step_of_ours() -> None:
    assert asked(5, 5, spread=True) == [
        "compile_cache",
        "input",
        "threads",
        "frozen_batch",
        "device",
    ]


def test_validation_that_matters_is_tried_in_other_batches() -> None:
    rare = fake_call(validation=5, step_total=95)
    often = fake_call(validation=50, step_total=50)
    assert "validation_batches" not in asked(50, 50, call=rare)
    assert "validation_batches" in asked(50, 50, call=often)


def test_torch_is_eager_by_nature() -> None:
    from fitdoctor.inside.lab.context import Context

    eager = fake_call(model=FakeModel(run_eagerly=True))
    assert Context.is_eager.fget(fake_context(5, backend="jax", call=eager))  # type: ignore[attr-defined]
    assert not Context.is_eager.fget(fake_context(5, backend="torch", call=eager))  # type: ignore[attr-defined]
