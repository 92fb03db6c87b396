"""The experiments on one captured fit, in order, with the state put back at the end."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab import input_probes
from fitdoctor.inside.lab.apparatus import frozen_steps, loop_steps
from fitdoctor.inside.lab.call_probes import probe_calls
from fitdoctor.inside.lab.experiment import Data, run_probe
from fitdoctor.inside.lab.model_probes import ModelExamination
from fitdoctor.inside.lab.probes import batch_scaling, host_augmentation, loader_alone, padding
from fitdoctor.inside.lab.probes.device_feeding import feeding
from fitdoctor.inside.lab.probes.device_sweep import device_sweep
from fitdoctor.inside.lab.probes.device_time import device_time
from fitdoctor.inside.lab.probes.grain_stages import grain_stages
from fitdoctor.inside.lab.probes.threads import thread_facts
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable
from fitdoctor.inside.seams.backends.device import device_facts
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.backends.randomness import snapshot_python
from fitdoctor.inside.seams.inputs.batch_maker import batch_maker
from fitdoctor.inside.seams.inputs.describe import describe_input
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads
from fitdoctor.inside.seams.watch.eager_switch import eager_switch, place_of_switch

# The running iterator's threads fill their buffers after training pauses.
SETTLE_S = 0.3
# Steps longer than this are not bound by dispatch on any backend.
SHORT_STEP_NS = 30_000_000
AGAIN_S = 0.8  # of frozen steps, after the probes of the input
# Each batch size is compiled anew.
SWEEP_LONGEST_S = 240.0
# The progress bar takes a few tenths of a millisecond at most.
BAR_STEP_NS = 4_000_000
# Keras's loop takes a few tenths of a millisecond around each step.
LOOP_STEP_NS = 5_000_000
# On JAX, a step much longer than Keras's loop cannot hide behind it.
HIDDEN_STEP_NS = 1_000_000
# Real over frozen step up to which the step itself is the limit.
AT_CEILING = 1.2
# Shorter steps have no time to lose on padding.
PADDING_STEP_NS = 2_000_000
TRIAL_EXECUTIONS = (10, 50)
# Loading must explain this share of what a step takes longer than on a frozen batch.
EXPLAINS = 0.3
# A loader this many times slower than the step is the limit, however steps are started.
LOADER_LIMITED = 2.0
# A GPU that works at least this part of a frozen step is not kept waiting by its start.
DEVICE_IDLES = 0.8
# Starting the operations may take far longer than a small batch on a GPU.
WIDEST_ON_GPU = 16


class FitExamination:
    """All probes of one fit."""

    def __init__(
        self,
        recorder: Recorder,
        backend: Backend,
        call: Call,
        *,
        arguments: tuple[Any, ...] = (),
        result: Any = None,
        may_consume: bool,
        period_ns: float | None,
        hdf5: Hdf5Reads,
    ) -> None:
        """`arguments` and `result` are the last step's, when a fit is still running."""
        self._recorder = recorder
        self._backend = backend
        self._call = call
        self._arguments = arguments
        self._result = result
        self._may_consume = may_consume
        self._period_ns = period_ns
        self._hdf5 = hdf5
        self._facts: Data = {}
        self._batch: Any = None
        self._device_busy_ns: float | None = None

    def run(self, *, sweep: bool = False) -> None:
        """Snapshot, probe, restore; `sweep` asks for batch sizes on this device only."""
        with self._recorder.suspend():
            restore = self._backend.snapshot(self._call.model)
            restore_data = snapshot_python(self._call.arguments.get("x"))
            try:
                if sweep:
                    self._probe("frozen_batch", self._frozen)
                    run_probe(
                        self._recorder,
                        self._call.workload.number,
                        "device_sweep",
                        self._device_sweep,
                        longest_s=SWEEP_LONGEST_S,
                    )
                else:
                    self._probe_all()
            finally:
                restore()
                restore_data()

    def _probe(self, name: str, experiment: Callable[[], Data]) -> Data | None:
        return run_probe(self._recorder, self._call.workload.number, name, experiment)

    def _probe_all(self) -> None:
        time.sleep(SETTLE_S)
        self._facts = self._probe("input", self._input) or {}
        self._probe("threads", lambda: thread_facts(self._backend.name))
        if self._is_one_shot():
            self._probe("source", self._source)
        if device_facts(self._backend.name)["replicas"] > 1:
            self._probe_spread()
            return
        frozen_data = self._probe("frozen_batch", self._frozen)
        step_ns = _median(frozen_data)
        device = self._probe("device", self._device) or {}
        if device.get("kind") == "gpu" and step_ns is not None:
            busy = self._probe("device_time", self._device_time)
            self._device_busy_ns = busy["busy_ns"] if busy else None
            if device.get("memory_retries"):
                self._probe("part_of_batch", self._part_of_batch)
        loader_ns = self._in_place_ns()
        input_matters = step_ns is None or self._input_may_matter(step_ns)
        if input_matters:
            alone = self._probe("loader_alone", self._loader_alone)
            loader_ns = _median(alone) or loader_ns
            self._probe_slow_input(alone, step_ns)
            if self._batch is not None:
                # A shared machine's pace changes within seconds: seen twice, apart, it shows.
                self._probe("frozen_again", self._frozen_again)
                if step_ns is not None and step_ns < LOOP_STEP_NS:
                    self._probe("frozen_in_loop", self._frozen_in_loop)
        probe_calls(self._probe, self._backend, self._call, self._facts, self._result)
        if step_ns is None:
            return
        if self._is_eager():
            self._probe("graph_trial", self._graph_trial)
            if not input_matters:
                # Beside a compiled step, which is far shorter, it may.
                self._probe("loader_alone", self._loader_alone)
        elif self._start_may_matter(step_ns, device.get("kind") == "gpu"):
            is_short = step_ns < SHORT_STEP_NS
            self._probe_short_step(executions=is_short and loader_ns < LOADER_LIMITED * step_ns)
        if not self._is_eager():
            if self._backend.name == "jax" and step_ns < HIDDEN_STEP_NS:
                self._probe("loop_alone", self._loop_alone)
            self._probe("step_python", self._step_python)
            self._probe_model(step_ns)

    def _probe_spread(self) -> None:
        """A model on several devices: what is known of them, and no step beside the fit's own.

        Steps of two programs that have to meet on every device wait for each other for ever now
        and then (XLA on two CPU devices ended the script twice in four examinations).
        """
        self._probe("frozen_batch", _spread_model)
        self._probe("device", self._device)

    def _is_eager(self) -> bool:
        """Op by op where the backend would compile; torch never does by itself."""
        if self._backend.name == "torch":
            return False
        return bool(self._call.model.run_eagerly) or eager_switch(self._backend.name) is not None

    def _start_may_matter(self, step_ns: float, on_gpu: bool) -> bool:
        """Whether starting a step may take long beside computing it.

        On a GPU, the many small operations of a long step may; a device that works nearly all the
        time shows that they do not.
        """
        if not on_gpu or self._device_busy_ns is None:
            return step_ns < SHORT_STEP_NS
        return self._device_busy_ns < DEVICE_IDLES * step_ns

    def _probe_model(self, step_ns: float) -> None:
        """Layers, settings and padding: what the step itself could gain."""
        model = self._call.model
        compiled_with = self._recorder.compiled_with.get(model)
        ModelExamination(
            self._probe, self._backend, self._call, self._batch, self._result, compiled_with
        ).run(step_ns, at_ceiling=(self._period_ns or step_ns) < AT_CEILING * step_ns)
        if step_ns >= PADDING_STEP_NS and padding.has_time_axis(all_layers(model)):
            self._probe("padding", self._padding)

    def _device(self) -> Data:
        facts = device_facts(self._backend.name)
        if facts["kind"] == "gpu" and self._batch is not None:
            facts.update(feeding(self._backend, self._batch, self._call.arguments.get("x")))
        return {**facts, "steps": self._call.steps}

    def _part_of_batch(self) -> Data:
        return batch_scaling.part_of_batch(self._backend, self._call, self._batch, self._result)

    def _device_time(self) -> Data:
        if self._call.step_function is None:
            raise NotAvailable("the training step was not seen")
        return device_time(
            self._backend, self._call, self._call.step_function, self._batch, self._result
        )

    def _on_gpu(self) -> bool:
        return bool(device_facts(self._backend.name)["kind"] == "gpu")

    def _device_sweep(self) -> Data:
        return device_sweep(self._backend, self._call, self._batch, self._result)

    def _padding(self) -> Data:
        others = () if self._is_one_shot() else self._backend.fresh_loader(self._call)
        return padding.padding(self._backend, self._call, self._batch, others, self._result)

    def _probe_slow_input(self, alone: Data | None, step_ns: float | None) -> None:
        """Why loading is slow, where loading explains what training loses."""
        lost = (self._period_ns or 0.0) - (step_ns or 0.0)
        kind = self._facts.get("kind")
        adapter = getattr(self._call.epoch_iterator, "data_adapter", None)
        if lost <= 0 or (alone is not None and self._loading_ns(alone) < EXPLAINS * lost):
            return
        if adapter is not None and kind == "tf.data":
            input_probes.probe_pipeline(self._probe, adapter._dataset)
        elif adapter is not None and kind == "PyDataset":
            input_probes.probe_workers(self._probe, adapter, alone, self._backend.name)
        elif adapter is not None and kind == "grain":
            self._probe("stages", lambda: grain_stages(adapter._dataset))
        input_probes.probe_hdf5(self._probe, self._hdf5, self._steps())
        if adapter is not None and self._on_gpu() and kind in ("PyDataset", "DataLoader"):
            host_augmentation.probe_augmentation(
                self._probe,
                functools.partial(batch_maker, adapter, kind),
                (self._backend, self._call, self._batch, self._result),
            )

    def _loading_ns(self, alone: Data) -> float:
        """What loading may cost a step: bursts, and the start of each epoch, are part of it."""
        windows = alone["ns"]
        often = (self._call.epochs + 1) / max(1, self._call.steps)
        return float(sum(windows) / max(1, len(windows)) + often * alone["first_batch_ns"])

    def _steps(self) -> int:
        """All steps of this line so far; a running call is not in its total yet."""
        running = self._call.steps if self._arguments else 0
        return self._call.workload.steps + running

    def _input_may_matter(self, step_ns: float) -> bool:
        """Loading is probed unless the frozen step already explains the real one."""
        return self._period_ns is None or self._period_ns > 1.03 * step_ns

    def _in_place_ns(self) -> float:
        source = self._call.source
        return source.wall_ns / source.count if source is not None and source.count else 0.0

    def _probe_short_step(self, *, executions: bool) -> None:
        self._probe(
            "batch_scaling",
            lambda: batch_scaling.batch_scaling(
                self._backend,
                self._call,
                self._batch,
                self._result,
                widest=WIDEST_ON_GPU if self._on_gpu() else batch_scaling.FACTOR,
            ),
        )
        verbose = self._call.arguments.get("verbose", "auto")
        if verbose in ("auto", 1) and (self._period_ns or 0.0) < BAR_STEP_NS:
            self._probe(
                "progress_bar",
                lambda: loop_steps.progress_bar(
                    self._backend, self._call, self._batch, self._result
                ),
            )
        if self._call.executions != 1 or not executions:
            return
        # On the user's own data where it can be read again: the loader has to keep up too.
        batch = self._batch if self._is_one_shot() else None
        trials = loop_steps.ExecutionTrials(self._backend, self._call, batch, self._result)
        self._probe("steps_per_execution_1", trials.one_by_one)
        for number in TRIAL_EXECUTIONS:
            together = functools.partial(trials.together, number)
            self._probe(f"steps_per_execution_{number}", together)

    def _is_one_shot(self) -> bool:
        return self._call.source is not None

    def _input(self) -> Data:
        adapter = getattr(self._call.epoch_iterator, "data_adapter", None)
        if adapter is None:
            raise NotAvailable("Keras's data adapter was not seen")
        return describe_input(adapter, self._call.arguments.get("x"))

    def _frozen(self) -> Data:
        if self._call.step_function is None:
            raise NotAvailable("the training step was not seen")
        self._batch = self._backend.frozen_batch(
            self._call, self._arguments, may_consume=self._may_consume
        )
        return frozen_steps.frozen_steps(
            self._backend, self._call, self._call.step_function, self._batch, self._result
        )

    def _step_python(self) -> Data:
        if self._call.step_function is None or self._batch is None:
            raise NotAvailable("there is no frozen batch")
        return frozen_steps.python_in_steps(
            self._backend, self._call, self._call.step_function, self._batch, self._result
        )

    def _frozen_again(self) -> Data:
        if self._call.step_function is None:
            raise NotAvailable("the training step was not seen")
        return frozen_steps.frozen_steps(
            self._backend,
            self._call,
            self._call.step_function,
            self._batch,
            self._result,
            seconds=AGAIN_S,
        )

    def _loader_alone(self) -> Data:
        return loader_alone.loader_alone(lambda: self._backend.fresh_loader(self._call))

    def _frozen_in_loop(self) -> Data:
        return loop_steps.frozen_in_loop(self._backend, self._call, self._batch, self._result)

    def _loop_alone(self) -> Data:
        return loop_steps.loop_alone(self._backend, self._call, self._batch, self._result)

    def _graph_trial(self) -> Data:
        """The step compiled as it would be by default; on JAX that is jit."""
        changed: Data = {"run_eagerly": False}
        if self._backend.name == "jax":
            changed["jit_compile"] = True
        switch = eager_switch(self._backend.name)
        if switch is None:
            return self._compiled(changed)
        switch.turn(True)
        try:
            data = self._compiled(changed)
        finally:
            switch.turn(False)
        place = place_of_switch(switch)
        where = {"file": place.file, "line": place.line} if place else {}
        return {**data, "switch": switch.name, **where}

    def _compiled(self, changed: Data) -> Data:
        return loop_steps.graph_trial(
            self._backend, self._call, self._batch, self._result, **changed
        )

    def _source(self) -> Data:
        """What a generator cost in place, since it may not be read by a probe."""
        source = self._call.source
        if source is None or not source.count:
            raise NotAvailable("the data is no generator")
        return {
            "count": source.count,
            "wall_ns": source.wall_ns,
            "cpu_ns": source.cpu_ns,
            "native": source.native or None,
        }


def _median(data: Data | None) -> float | None:
    values = sorted(data["ns"]) if data else []
    return float(values[len(values) // 2]) if values else None


def _spread_model() -> Data:
    """Operations one by one over several devices may wait for each other for ever."""
    raise NotAvailable("the model is spread over several devices")
