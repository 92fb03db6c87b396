"""From a recorded workload to what rules see of it."""

from __future__ import annotations

import itertools

from fitdoctor.analysis.beginning import beginning_of
from fitdoctor.analysis.costs import Costs
from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.fit_costs import fit_costs
from fitdoctor.analysis.group_costs import group_costs, is_group
from fitdoctor.analysis.host_lines import host_lines
from fitdoctor.analysis.loader import loader_of
from fitdoctor.analysis.loops_inside import with_loops_inside
from fitdoctor.analysis.validation_between import validations_of, with_validation
from fitdoctor.analysis.view import View
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.evidence.loading import InputFacts, LoaderAlone
from fitdoctor.contract.evidence.loop import RepeatedCall
from fitdoctor.contract.evidence.step import FrozenAgain, FrozenBatch, StepAlone
from fitdoctor.contract.records import RecordedWorkload, Recording
from fitdoctor.intervals import Interval

# A loop's body beside its loader may take longer than alone.
BODY_ERROR = 0.15
TRAINING_CALL = "train_on_batch"


def view_of(recording: Recording, workload: RecordedWorkload) -> View | None:
    """The view of a workload, or None when there is too little to see."""
    group = is_group(workload)
    costs = _group_costs(recording, workload) if group else fit_costs(workload)
    if costs is None:
        return None
    validations = validations_of(recording, workload)
    costs = with_validation(costs, workload, validations)
    costs = with_loops_inside(costs, workload, recording.workloads)
    machine = recording.machine
    return View(
        recorded=workload,
        costs=costs,
        frozen=_frozen(workload, costs, is_alone=not machine.accelerators),
        loader=loader_of(workload, costs.core),
        input=workload.found(InputFacts) or InputFacts(),
        backend=recording.keras.backend or workload.detail.backend or "unknown",
        cpus=machine.affinity or machine.cpus or 1,
        # A call of train_on_batch is a step of the loop around it.
        is_group=group and workload.kind != TRAINING_CALL,
        compile_calls=tuple(
            event
            for events in (recording.events, *(w.events for w in recording.workloads))
            for event in events
            if event.name == "compile_call"
        ),
        frozen_cores=_frozen_cores(workload),
        accelerators=len(machine.accelerators),
        was_cut=recording.examined,
        faulting=_faulting(recording),
        memory_share=_memory_share(recording),
        inner=tuple(one for one in recording.workloads if one.parent == workload.number),
        validations=validations,
        lines=host_lines(recording, workload),
        beginning=beginning_of(recording, workload),
        keras_version=recording.keras.version,
    )


def _step_alone(workload: RecordedWorkload, costs: Costs) -> Interval | None:
    """The step of a loop by itself.

    A step function of Python holds code of the user's own, which was seen apart: then what was
    seen in the framework is the step.
    """
    found = workload.found(StepAlone)
    alone = from_windows(found.ns) if found is not None else None
    if alone is None or workload.detail.backend == "jax" or loop_lines(workload) is None:
        return alone
    return Interval.minimum(alone, Interval.around(max(1.0, costs.parts["step"]), BODY_ERROR))


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
    frozen, seen = workload.found(FrozenBatch), loop_lines(workload)
    if frozen is not None:
        return frozen.own_cores
    return 1.0 if seen is None else seen.cores("step", own_thread=False)


def _faulting(recording: Recording) -> tuple[tuple[int, int, float], ...]:
    """Between two samples: how many pages per second came from the disk."""
    known = [(one.t, one.major_faults) for one in recording.samples if one.major_faults is not None]
    return tuple(
        (begin, end, (after - before) / max(1e-3, (end - begin) / 1e9))
        for (begin, before), (end, after) in itertools.pairwise(known)
    )


def _memory_share(recording: Recording) -> float | None:
    machine = recording.machine
    limits = (machine.cgroup_memory_bytes, machine.memory_bytes)
    limit = min((one for one in limits if one), default=None)
    used = [one.rss + (one.children_rss or 0) for one in recording.samples if one.rss]
    return max(used) / limit if limit and used else None


def _frozen(workload: RecordedWorkload, costs: Costs, *, is_alone: bool = False) -> Interval | None:
    """The step on one batch: of a loop, its function called again.

    Where a loop ended before that, its own body stands in, but only on TensorFlow, where a
    body returns when it is done. So does torch on a CPU: what of a watched loop was seen in the
    framework is its step, where nothing is compiled that could be called again.
    """
    alone = _step_alone(workload, costs)
    if alone is not None:
        return alone
    frozen, repeated = workload.found(FrozenBatch), workload.found(RepeatedCall)
    if frozen is not None and frozen.ns:
        first, later = from_windows(frozen.ns), workload.found(FrozenAgain)
        again = from_windows(later.ns) if later is not None else None
        return first if first is None or again is None else Interval.again(first, again)
    if workload.kind == "loop" and repeated is not None and repeated.ns:
        return from_windows(repeated.ns)
    seen = loop_lines(workload)
    backend, marker = workload.detail.backend, workload.detail.marker
    if seen is not None and marker in ("optimizer", "gradient") and backend == "torch" and is_alone:
        step = max(1.0, costs.parts.get("step", 0.0))
        return Interval.around(step, seen.error_of(seen.step))
    on_tensorflow = backend in ("tensorflow", "unknown")
    has_loader = workload.found(LoaderAlone) is not None
    if workload.kind == "loop" and on_tensorflow and has_loader:
        return Interval.around(max(1.0, costs.parts.get("step", 0.0)), BODY_ERROR)
    return None
