"""Probes of the step: when each is worth running, and what it finds; with no framework."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fake_context import MS, FakeModel, fake_call, fake_context, probe_named, quick_windows

from fitdoctor.contract.evidence.device import Device, DeviceFacts
from fitdoctor.contract.evidence.step import StepsPerExecution
from fitdoctor.inside.lab.probe import NotAvailable, Subject, probes_of
from fitdoctor.inside.lab.probes import (
    alternatives,
    batch_scaling,
    compiled_fit,
    device_feeding,
    device_sweep,
    device_time,
    frozen_batch,
    loop_alone,
    progress_bar,
    step_python,
    steps_per_execution,
    threads,
    without_jit,
)

pytestmark = pytest.mark.usefixtures(quick_windows.__name__)
frozen = probe_named(frozen_batch, "frozen_batch")
again = probe_named(frozen_batch, "frozen_again")
in_loop = probe_named(frozen_batch, "frozen_in_loop")
scaling = probe_named(batch_scaling, "batch_scaling")
part = probe_named(batch_scaling, "part_of_batch")
one_by_one, ten, fifty = probes_of(steps_per_execution)


class TestFrozenBatch:
    def test_a_step_that_was_not_seen_cannot_be_timed(self) -> None:
        with pytest.raises(NotAvailable, match="the training step was not seen"):
            frozen.run(fake_context(call=fake_call(step_function=None)))

    def test_a_spread_model_is_refused(self) -> None:
        with pytest.raises(NotAvailable, match="spread over several devices"):
            frozen.run(fake_context(spread=True))

    def test_the_batch_is_kept_for_the_others(self) -> None:
        context = fake_context(batch=None)
        found = frozen.run(context)
        assert found.rows == len(context.batch) == 32
        assert found.ns
        assert found.clean

    def test_again_only_where_the_input_was_probed_meanwhile(self) -> None:
        assert not again.wanted(fake_context(50, period_ns=51 * MS))
        assert not again.wanted(fake_context(50, period_ns=90 * MS, batch=None))
        assert again.wanted(fake_context(50, period_ns=90 * MS))
        assert again.run(fake_context(50)).rows == 32

    def test_in_the_loop_only_where_that_is_long_beside_the_step(self) -> None:
        assert not in_loop.wanted(fake_context(5, period_ns=50 * MS))
        assert not in_loop.wanted(fake_context(1, period_ns=1 * MS))
        assert in_loop.wanted(fake_context(1, period_ns=5 * MS))


class TestBatchScaling:
    def test_long_and_eager_steps_are_not_scaled(self) -> None:
        assert not scaling.wanted(fake_context(30))
        assert not scaling.wanted(fake_context(1, eager=True))
        assert not scaling.wanted(fake_context(None))
        assert scaling.wanted(fake_context(29))

    def test_a_quarter_and_four_times(self) -> None:
        found = scaling.run(fake_context(1))
        assert (found.rows, list(found.sizes), found.ended) == (32, ["8", "128"], None)

    def test_wider_on_a_gpu_until_memory_ends(self) -> None:
        context = fake_context(1, gpu=True)
        assert list(scaling.run(context).sizes) == ["8", "128", "512"]
        context.backend.most_rows = 200
        found = scaling.run(context)
        assert list(found.sizes) == ["8", "128"]
        assert found.ended == "at 512 rows: MemoryError"

    def test_the_first_larger_one_must_fit(self) -> None:
        context = fake_context(1)
        context.backend.most_rows = 64
        with pytest.raises(MemoryError):
            scaling.run(context)

    def test_a_batch_without_rows_cannot_be_scaled(self) -> None:
        with pytest.raises(NotAvailable, match="first dimension"):
            scaling.run(fake_context(1, batch=None))

    def test_part_of_the_batch(self) -> None:
        full = Device(kind="gpu", memory_retries=2)
        assert not part.wanted(fake_context(9, found=(Device(kind="gpu", memory_retries=0),)))
        assert not part.wanted(fake_context(None, found=(full,)))
        assert part.wanted(fake_context(9, found=(full,)))
        found = part.run(fake_context(9))
        assert (found.rows, found.of_rows) == (8, 32)
        with pytest.raises(NotAvailable, match="cannot be cut"):
            part.run(fake_context(9, batch=[1, 2]))


class TestStepsPerExecution:
    def test_only_where_it_is_not_set_yet(self) -> None:
        assert one_by_one.wanted(fake_context(1))
        assert not one_by_one.wanted(fake_context(1, call=fake_call(executions=8)))

    def test_not_where_the_loader_is_the_limit(self) -> None:
        slow = SimpleNamespace(count=10, wall_ns=10 * 2 * MS)
        assert not ten.wanted(fake_context(1, call=fake_call(source=slow)))
        fast = SimpleNamespace(count=10, wall_ns=10 * MS)
        assert ten.wanted(fake_context(1, call=fake_call(source=fast)))

    def test_each_is_timed_beside_steps_one_by_one(self) -> None:
        context = fake_context(1)
        alone = one_by_one.run(context)
        assert isinstance(alone, StepsPerExecution)
        assert alone.base_ns is None
        assert alone.first_ns is not None
        found = fifty.run(context)
        assert len(found.base_ns or ()) == len(found.ns)
        assert context.backend.settings == [
            {"steps_per_execution": 1},
            {"steps_per_execution": 50},
        ]

    def test_on_the_users_own_data_where_it_can_be_read_again(self) -> None:
        context = fake_context(1)
        one_by_one.run(context)
        assert context.backend.steppers[-1].batch is None
        source = SimpleNamespace(count=1, wall_ns=1)
        once = fake_context(1, call=fake_call(source=source))
        one_by_one.run(once)
        assert once.backend.steppers[-1].batch == once.batch

    def test_without_them_there_is_nothing_to_compare_with(self) -> None:
        with pytest.raises(NotAvailable, match="one by one"):
            ten.run(fake_context(1))


class TestSettings:
    def test_without_jit_only_where_it_is_asked_for(self) -> None:
        (probe,) = probes_of(without_jit)
        assert not probe.wanted(fake_context(5, backend="tensorflow"))
        context = fake_context(
            5, backend="tensorflow", call=fake_call(model=FakeModel(jit_compile=True))
        )
        assert probe.wanted(context)
        assert context.backend.name == "tensorflow"
        found = probe.run(context)
        assert len(found.base_ns) == len(found.ns)
        assert context.backend.settings == [{"jit_compile": False}]
        on_jax = fake_context(5, call=fake_call(model=FakeModel(jit_compile=True)))
        assert not probe.wanted(on_jax)

    def test_an_eager_step_is_compiled_as_by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (probe,) = probes_of(compiled_fit)
        assert not probe.wanted(fake_context(5))
        assert not probe.wanted(fake_context(None, eager=True))
        context = fake_context(5, eager=True)
        assert probe.wanted(context)
        turns: list[bool] = []
        switch = SimpleNamespace(name="jax_disable_jit", turn=turns.append)
        monkeypatch.setattr(compiled_fit, "eager_switch", lambda _: switch)
        monkeypatch.setattr(compiled_fit, "place_of_switch", lambda _: None)
        monkeypatch.setattr(compiled_fit, "keras_callbacks", lambda: None)
        monkeypatch.setattr(
            compiled_fit,
            "time_in_loop",
            lambda *_: SimpleNamespace(timed=lambda: frozen.run(fake_context())),
        )
        found = probe.run(context)
        assert found.switch == "jax_disable_jit"
        assert turns == [True, False]
        assert context.backend.settings == [{"run_eagerly": False, "jit_compile": True}]

    def test_the_switch_is_put_back_after_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (probe,) = probes_of(compiled_fit)
        turns: list[bool] = []
        switch = SimpleNamespace(name="s", turn=turns.append)
        monkeypatch.setattr(compiled_fit, "eager_switch", lambda _: switch)
        context = fake_context(5, eager=True)
        context.backend.most_rows = 1
        with pytest.raises(MemoryError):
            probe.run(context)
        assert turns == [True, False]

    @pytest.mark.parametrize(("verbose", "wanted"), [("auto", True), (1, True), (2, False)])
    def test_a_progress_bar_is_timed_where_there_is_one(self, verbose: Any, wanted: bool) -> None:
        (probe,) = probes_of(progress_bar)
        call = fake_call(arguments={"verbose": verbose})
        assert probe.wanted(fake_context(1, period_ns=2 * MS, call=call)) is wanted
        assert not probe.wanted(fake_context(1, period_ns=4 * MS, call=call))
        assert not probe.wanted(fake_context(40, period_ns=2 * MS, call=call))

    def test_the_loop_alone_on_jax_beside_tiny_steps(self) -> None:
        (probe,) = probes_of(loop_alone)
        assert not probe.wanted(fake_context(1))
        assert not probe.wanted(fake_context(0.5, backend="torch"))
        assert not probe.wanted(fake_context(0.5, eager=True))
        assert probe.wanted(fake_context(0.5))
        with pytest.raises(NotAvailable, match="first dimension"):
            probe.run(fake_context(0.5, batch=None))

    def test_python_during_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (probe,) = probes_of(step_python)
        assert not probe.wanted(fake_context(5, eager=True))
        assert probe.wanted(fake_context(5))
        with pytest.raises(NotAvailable, match="the training step was not seen"):
            probe.run(fake_context(5, trial=None))
        monkeypatch.setattr(step_python, "IDLE_SECONDS", 0.01)
        found = probe.run(fake_context(5))
        assert found.functions == ()

    def test_threads_and_cores(self) -> None:
        (probe,) = probes_of(threads)
        found = probe.run(fake_context())
        assert (found.asked, found.backend) == (None, "jax")
        assert found.allowed >= 1


class TestDevice:
    def test_a_cpu_needs_no_feeding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (probe,) = probes_of(device_feeding)
        monkeypatch.setattr(device_feeding, "device_facts", lambda _: DeviceFacts(count=1))
        found = probe.run(fake_context())
        assert (found.kind, found.count, found.steps) == ("cpu", 1, 100)
        assert found.transfer_ns is None

    def test_a_gpu_is_fed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (probe,) = probes_of(device_feeding)
        monkeypatch.setattr(device_feeding, "device_facts", lambda _: DeviceFacts(kind="gpu"))
        monkeypatch.setattr(device_feeding, "transfer_ns", lambda _, batch: 100 * len(batch))
        monkeypatch.setattr(device_feeding, "_pick_ns", lambda _, rows: rows)
        monkeypatch.setattr(device_feeding, "batch_bytes", len)
        found = probe.run(fake_context())
        assert (found.transfer_ns, found.quarter_transfer_ns) == (3200, 800)
        assert (found.wide_times, found.wide_transfer_ns) == (16, 16 * 3200)
        assert (found.pick_ns, found.wide_pick_ns) == (32, 16 * 32)
        assert probe.run(fake_context(batch=None)).transfer_ns is None

    def test_device_time_is_per_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (probe,) = probes_of(device_time)
        assert not probe.wanted(fake_context(5))
        assert not probe.wanted(fake_context(5, found=(Device(kind="cpu"),)))
        assert not probe.wanted(fake_context(None, found=(Device(kind="gpu"),)))
        assert probe.wanted(fake_context(5, found=(Device(kind="gpu"),)))
        total = SimpleNamespace(busy_ns=400.0, compute_ns=300.0, copy_ns=100.0, kernels=80)
        monkeypatch.setattr(device_time, "device_work", lambda _, run: run() or total)
        found = probe.run(fake_context(5, call=fake_call(executions=2)))
        assert (found.busy_ns, found.kernels) == (20.0, 4.0)

    def test_a_sweep_goes_on_until_memory_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (probe,) = probes_of(device_sweep)
        assert probe.subjects == {Subject.SWEEP}
        monkeypatch.setattr(device_sweep, "device_facts", lambda _: DeviceFacts())
        monkeypatch.setattr(device_sweep, "transfer_ns", lambda *_: 7)
        context = fake_context(subject=Subject.SWEEP)
        found = probe.run(context)
        assert list(found.sizes) == ["2", "8", "32", "128", "512", "2048"]
        assert (found.transfer_ns, found.ended) == (7, None)
        context.backend.most_rows = 100
        found = probe.run(context)
        assert list(found.sizes) == ["2", "8", "32"]
        assert found.ended == "at 128 rows: MemoryError"
        with pytest.raises(NotAvailable, match="first dimension"):
            probe.run(fake_context(batch=None))


class TestAlternatives:
    def calls(self, kind: str, backend: str = "jax") -> tuple[set[str], list[str]]:
        done: list[str] = []

        class Model:
            def __getattr__(self, name: str) -> Any:
                return lambda *_, **given: done.append(name) or given

            def __call__(self, *_: Any, **__: Any) -> None:
                done.append("call")

        arguments = {"x": 1, "y": 2, "callbacks": ["mine"], "_private": 3}
        call = fake_call(kind=kind, model=Model(), arguments=arguments)
        (probe,) = probes_of(alternatives)
        assert probe.subjects == {Subject.GROUP}
        context = fake_context(call=call, backend=backend, subject=Subject.GROUP)
        found = probe.run(context)
        assert found.same.ns
        return set(found.alternatives), done

    def test_the_call_itself_and_on_batch(self) -> None:
        names, done = self.calls("fit")
        assert names == {"train_on_batch"}
        assert {"fit", "train_on_batch"} <= set(done)
        assert self.calls("evaluate")[0] == {"test_on_batch"}
        assert self.calls("train_on_batch")[0] == set()

    def test_the_model_itself_but_not_on_jax(self) -> None:
        assert self.calls("predict")[0] == {"predict_on_batch"}
        assert self.calls("predict", "torch")[0] == {
            "predict_on_batch",
            "model(x, training=False)",
        }
