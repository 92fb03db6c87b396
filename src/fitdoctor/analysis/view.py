"""One workload as a rule sees it: costs, probes and the machine, with missing as None."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from fitdoctor.analysis.asynchronous import as_computed
from fitdoctor.analysis.costs import Costs
from fitdoctor.analysis.estimate import from_windows, ratio_in_turns
from fitdoctor.analysis.fit_costs import fit_costs
from fitdoctor.analysis.group_costs import group_costs, is_group
from fitdoctor.analysis.loader import Loader, loader_of
from fitdoctor.analysis.model_costs import LayerCost, copy_ratio, layer_costs
from fitdoctor.analysis.pipeline import StageCost, Trial, stage_costs, trial_of
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.records import Event, RecordedWorkload, Recording
from fitdoctor.intervals import Interval

# A loop's body beside its loader may take longer than alone.
BODY_ERROR = 0.15
# Loading takes this many frozen steps or more: it is what a step mostly consists of.
LOADING_RULES = 3.0
# A frozen step over what lies between two real ones: the host only enqueues, and runs ahead.
RUNS_AHEAD = 1.5
# What Keras's own loop takes around a step where it was not measured: 0.2 ms on JAX.
KERAS_LOOP_NS = 200_000.0
# A loop this many times longer than the step in it is the loop's own length.
LOOP_SHOWS = 1.5


@dataclass(frozen=True)
class View:
    """What rules may look at; they decide on evidence, never on names in the script."""

    recorded: RecordedWorkload
    costs: Costs
    frozen: Interval | None  # ns per step on one batch in memory
    loader: Loader | None
    input: dict[str, Any]
    backend: str
    cpus: int
    is_group: bool
    compile_calls: tuple[Event, ...] = ()  # model.compile() anywhere in the script
    frozen_cores: float = 1.0  # CPU use of the step on a frozen batch
    accelerators: int = 0
    # Spans of the run with the rate of pages read from disk in them: begin, end, per second.
    faulting: tuple[tuple[int, int, float], ...] = ()
    memory_share: float | None = None  # the most that was used of what may be used

    @property
    def stages(self) -> tuple[StageCost, ...]:
        """The stages of a tf.data pipeline, the last one first."""
        return stage_costs(self.recorded)

    @property
    def layers(self) -> tuple[LayerCost, ...]:
        """The model's layers, the costliest first."""
        return layer_costs(self.recorded)

    def left_by(self, probe: str) -> Interval | None:
        """What a changed step leaves of the frozen one; None where it was not tried."""
        data = self.result(probe)
        if not data or self.frozen is None:
            return None
        in_turns = ratio_in_turns(data)
        if in_turns is not None:
            return in_turns
        tried = from_windows(data.get("ns") or ())
        return tried.divided_by(self.frozen) if tried is not None else None

    def left_by_change(self, change: str) -> Interval | None:
        """The same for one thing of the model changed: tried on itself, or on a copy."""
        return self.left_by(f"step_{change}") or copy_ratio(self.recorded, change)

    def changed_step(self, change: str) -> Interval | None:
        """The frozen step with one thing of the model changed."""
        left = self.left_by_change(change)
        if left is None or self.frozen is None:
            return None
        return left.scaled(self.frozen.value)

    @property
    def planned_steps(self) -> int:
        """Steps that the run would take in all, as far as its arguments tell; else those seen."""
        per_epoch, passes = self.steps_per_epoch, self.passes
        if per_epoch is None or passes is None:
            return self.costs.steps
        return max(self.costs.steps, round(per_epoch * passes))

    def stage(self, number: int) -> StageCost | None:
        """One stage by its number."""
        return next((stage for stage in self.stages if stage.number == number), None)

    def trial(self, name: str) -> Trial | None:
        """A trial of a changed pipeline."""
        several = self.passes is None or self.passes > 1
        return trial_of(self.recorded, name, self.steps_per_epoch if several else None)

    @property
    def passes(self) -> int | None:
        """How often the training reads its data: as asked for, or as often as it was seen to."""
        if self.recorded.kind == "loop":
            return len({block.epoch for block in self.recorded.blocks if block.t})
        epochs = self.recorded.detail.get("epochs")
        if not isinstance(epochs, int):
            return None
        return epochs * max(1, len(self.recorded.calls))

    @property
    def steps_per_epoch(self) -> float | None:
        """Steps in one pass, from what ran."""
        epochs = sum(call.epochs for call in self.recorded.calls)
        full = epochs - 1 if epochs > 1 else epochs
        steps = sum(call.steps for call in self.recorded.calls)
        asked = self.recorded.detail.get("steps_per_epoch")
        if isinstance(asked, int):
            return float(asked)
        if epochs <= 1:
            return float(steps) if epochs else None
        by_epoch: dict[tuple[int, int], int] = {}
        for block in self.recorded.blocks:
            key = (block.call, block.epoch)
            by_epoch[key] = by_epoch.get(key, 0) + len(block.t) * block.executions
        return float(max(by_epoch.values())) if by_epoch else steps / full

    @property
    def input_gain(self) -> Interval | None:
        """Step now over step on a frozen batch: what curing all input could give."""
        if self.frozen is None or self.is_group:
            return None
        serial = max(0.0, self.costs.total.value - self.core.value)
        return self.costs.total.divided_by(self.ceiling_step + Interval.exact(serial))

    @property
    def runs_ahead(self) -> bool:
        """Whether the host's clock tells of enqueuing, not of computing (JAX)."""
        if self.frozen is None or self.is_group or self.backend != "jax":
            return False
        return self.frozen.value > RUNS_AHEAD * min(self.costs.core.value, self.costs.median_ns)

    @property
    def parts(self) -> dict[str, float]:
        """Where the time of a step goes: by the host's clock, or as the device computes."""
        if self.frozen is None or self.is_group or self.backend != "jax":
            return dict(self.costs.parts)
        return as_computed(self.costs.parts, self.core.value, self.frozen.value)

    @property
    def core(self) -> Interval:
        """One step to the next, without what batch callbacks, saves and compiles add.

        A frozen step is left at least: where dispatch is asynchronous (JAX), a callback that
        reads a number waits for the device, and that is the step, not the callback.
        """
        core = self.costs.core
        most = core.value - (self.frozen.value if self.frozen is not None else 0.0)
        return core.minus(Interval.exact(max(0.0, min(sum(self.costs.beside.values()), most))))

    @property
    def ceiling_step(self) -> Interval:
        """The frozen step, or what loading cannot explain of the real one, if that is more.

        Input costs at most what loading a batch takes. The rest of a real step, Keras's
        loop and its callbacks' thread, stays when the data is in memory. Where loading is
        most of the step, though, the rest is mostly loading too, slower beside the step's
        threads than alone: then both are taken to be slowed alike, and Keras's loop to stay.
        """
        frozen = self.frozen or self.core
        loading = self.costs.parts.get("input_wait", 0.0)
        if self.loader is not None:
            loading = max(loading, self.loader.ns.value)
        rest = max(1.0, self.core.value - loading)
        in_loop = self.frozen_in_loop or frozen
        if loading > LOADING_RULES * frozen.value:
            alike = frozen.value * self.core.value / (loading + frozen.value)
            loop = KERAS_LOOP_NS if self.frozen_in_loop is None else in_loop.value - frozen.value
            rest = min(rest, alike + loop)
        return Interval.maximum(in_loop, Interval.exact(rest))

    @property
    def frozen_in_loop(self) -> Interval | None:
        """The frozen step with what Keras does around each; None where that was not measured."""
        measured = self.probe_ns("frozen_in_loop")
        if measured is None or self.frozen is None:
            return None
        return Interval.maximum(self.frozen, measured)

    @property
    def host_loop(self) -> Interval | None:
        """Keras's loop alone, where the device computes beside it; None where that is not known.

        Around a step of one row; where that takes nearly all of it, the loop hides behind the step.
        """
        data = self.result("loop_alone")
        in_loop = self.probe_ns("loop_alone")
        alone = from_windows(data["alone"]["ns"]) if data else None
        if in_loop is None or alone is None or in_loop.value < LOOP_SHOWS * alone.value:
            return None
        return in_loop

    @property
    def dispatch_share(self) -> float | None:
        """The part of a frozen step that does not grow with the batch: starting its operations."""
        data = self.result("batch_scaling")
        if not data or self.frozen is None:
            return None
        times = {int(rows): from_windows(one["ns"]) for rows, one in data["sizes"].items()}
        known = sorted((rows, one.value) for rows, one in times.items() if one is not None)
        if len(known) < 2:
            return None
        (fewer, short), (more, long) = known[0], known[-1]
        per_row = max(0.0, (long - short) / (more - fewer))
        fixed = max(0.0, short - per_row * fewer)
        return fixed / max(1.0, fixed + per_row * int(data["rows"]))

    def result(self, probe: str) -> dict[str, Any] | None:
        """A probe's data."""
        return self.recorded.result(probe)

    def probe_ns(self, probe: str) -> Interval | None:
        """A probe's time per step or call."""
        data = self.result(probe)
        return from_windows(data["ns"]) if data and data.get("ns") else None


def view_of(recording: Recording, workload: RecordedWorkload) -> View | None:
    """The view of a workload, or None when there is too little to see."""
    group = is_group(workload)
    costs = _group_costs(recording, workload) if group else fit_costs(workload)
    if costs is None:
        return None
    return View(
        recorded=workload,
        costs=costs,
        frozen=_frozen(workload, costs, is_alone=not recording.machine.get("accelerators")),
        loader=loader_of(workload, costs.core),
        input=workload.result("input") or {},
        backend=str(recording.keras.get("backend", workload.detail.get("backend", "unknown"))),
        cpus=int(recording.machine.get("affinity") or recording.machine.get("cpus") or 1),
        is_group=group,
        compile_calls=tuple(
            event
            for events in (recording.events, *(w.events for w in recording.workloads))
            for event in events
            if event.name == "compile_call"
        ),
        frozen_cores=_frozen_cores(workload),
        accelerators=len(recording.machine.get("accelerators") or ()),
        faulting=_faulting(recording),
        memory_share=_memory_share(recording),
    )


def _group_costs(recording: Recording, workload: RecordedWorkload) -> Costs | None:
    """Costs of repeated calls, without what the script does elsewhere in between."""
    siblings = [
        other
        for other in recording.workloads
        if other.number != workload.number and other.parent == workload.parent
    ]
    probes = [probe for one in recording.workloads for probe in one.probes.values() if probe.dur]
    return group_costs(
        workload,
        elsewhere=[(call.t, call.t + call.dur) for other in siblings for call in other.calls],
        paused=[(probe.t, probe.t + probe.dur) for probe in probes],
    )


def _frozen_cores(workload: RecordedWorkload) -> float:
    """CPU use of a step without its input."""
    frozen, seen = workload.result("frozen_batch"), loop_lines(workload)
    if frozen:
        return float(frozen.get("own_cores", 1.0))
    return 1.0 if seen is None else seen.cores("step", own_thread=False)


def _faulting(recording: Recording) -> tuple[tuple[int, int, float], ...]:
    """Between two samples: how many pages per second came from the disk."""
    known = [s for s in recording.samples if s.get("major_faults") is not None]
    return tuple(
        (
            int(before["t"]),
            int(after["t"]),
            (after["major_faults"] - before["major_faults"])
            / max(1e-3, (after["t"] - before["t"]) / 1e9),
        )
        for before, after in itertools.pairwise(known)
    )


def _memory_share(recording: Recording) -> float | None:
    machine = recording.machine
    limits = [machine.get("cgroup_memory_bytes"), machine.get("memory_bytes")]
    limit = min((n for n in limits if n), default=None)
    used = [s["rss"] + (s.get("children_rss") or 0) for s in recording.samples if s.get("rss")]
    return max(used) / limit if limit and used else None


def _frozen(workload: RecordedWorkload, costs: Costs, *, is_alone: bool = False) -> Interval | None:
    """The step on one batch: of a loop without a loader, its compiled function called again.

    Where a loop ended before that, its own body stands in, but only on TensorFlow, where a
    body returns when it is done. So does torch on a CPU: what of a watched loop was seen in the
    framework is its step, where nothing is compiled that could be called again.
    """
    data = workload.result("frozen_batch")
    if data and data.get("ns"):
        first = from_windows(data["ns"])
        again = from_windows((workload.result("frozen_again") or {}).get("ns") or ())
        return first if first is None or again is None else Interval.again(first, again)
    again = (workload.result("repeat_call") or {}).get("ns") if workload.kind == "loop" else None
    if again:
        return from_windows(again)
    seen = loop_lines(workload)
    backend, marker = workload.detail.get("backend"), workload.detail.get("marker")
    if seen is not None and marker == "optimizer" and backend == "torch" and is_alone:
        step = max(1.0, costs.parts.get("step", 0.0))
        return Interval.around(step, seen.error_of(seen.step))
    on_tensorflow = workload.detail.get("backend") in ("tensorflow", "unknown")
    if workload.kind == "loop" and on_tensorflow and workload.result("loader_alone"):
        return Interval.around(max(1.0, costs.parts.get("step", 0.0)), BODY_ERROR)
    return None
