"""RECORDING -> DIAGNOSIS: analysis, rules, ranking and the verdict, workload by workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from fitdoctor.analysis.anomalies import first_epoch, iterator_waits, stalls
from fitdoctor.analysis.device_time import device_time
from fitdoctor.analysis.health import not_measured, recording_health, workload_health
from fitdoctor.analysis.input_line import input_line
from fitdoctor.analysis.start_up import start_up
from fitdoctor.analysis.step_rows import step_rows
from fitdoctor.analysis.view import View, view_of
from fitdoctor.findings.diagnosed import (
    Ceiling,
    DiagnosedWorkload,
    Diagnosis,
    Health,
    Level,
    Part,
    StepTime,
    Verdict,
)
from fitdoctor.findings.finding import Finding, Where
from fitdoctor.findings.ranking import family_of, ranked
from fitdoctor.findings.rule import Rule
from fitdoctor.intervals import Interval
from fitdoctor.prediction.joint import joint_gain
from fitdoctor.prediction.loader_cure import input_is_slow
from fitdoctor.recording.schema import RecordedWorkload, Recording
from fitdoctor.rules import all_rules
from fitdoctor.units import duration, percent

# Real over frozen step from which training is called input-bound without a named cause.
INPUT_BOUND = 1.15
# A workload below this share of the recorded time is not worth a line of its own.
SMALL_SHARE = 0.02
MIN_STEADY_STEPS = 5
# A start-up this long, and longer than the training itself, is the thing to know.
START_UP_NS = 3e9
START_UP_SHARE = 1.0
# Cores busy while loading alone, from which they count as all.
ALL_BUSY = 0.85
# Explanations of why a batch takes long to load, of which one is right.
WHY_LOADING_IS_SLOW = frozenset(
    {"IN001", "IN002", "IN003", "IN005", "IN008", "IN010", "IN011", "IN012", "IN013"}
)
# A finding that says no more where one of the others is there.
EXPLAINED_BY: dict[str, frozenset[str]] = {
    # A layer that is slow, emulated or fed with padding dominates for that reason.
    "MO008": frozenset({"MO002", "MO003", "MO004", "MO005", "MO007", "CO003", "CO004"}),
    # Steps started together print together.
    "CB005": frozenset({"HO002", "HO004"}),
    # Recompiling makes some steps slower than others.
    "EN004": frozenset({"CO001", "CO002"}),
    # Too few cores make every kind of step slower; other backends have other costs.
    "MO003": frozenset({"EN002"}),
    # Tracing that recurs is not one long start.
    "CO003": frozenset({"CO001", "CO002"}),
    # Validation that has to skip what training uses takes long for that reason.
    "CB002": frozenset({"IN007"}),
    # On the device that suits it, a step has another price altogether.
    "HO002": frozenset({"EN003"}),
}
# Of a loop without a loader: the compiled function is at least this much of a step, or what
# lies between its calls is not known to be needed.
STEP_SHARE = 0.8
# A step this much longer than on a frozen batch, where input is slow, is held up by loading.
CONTENTION_SHARE = 0.3
# Host steps this much shorter than a frozen one: the host enqueues, the device still works.
RUNS_AHEAD = 1.5


def diagnose(recording: Recording, *, rules: Sequence[Rule] | None = None) -> Diagnosis:
    """Judge every workload of a recording, with all rules unless some are given."""
    used = all_rules() if rules is None else rules
    workloads = [
        _diagnosed(recording, workload, used)
        for workload in recording.workloads
        if not is_part_of_another(recording, workload)
    ]
    total = sum(workload.total_ns for workload in workloads)
    listed = [w for w in workloads if w.total_ns >= SMALL_SHARE * total or w.findings]
    listed.sort(key=lambda w: -w.total_ns)
    header = recording.header
    return Diagnosis(
        version=str(header.get("fitdoctor", "")),
        script=str(header.get("script", {}).get("path", "")),
        argv=tuple(str(a) for a in header.get("script", {}).get("argv", ())),
        machine=recording.machine,
        keras=recording.keras,
        recorder_ratio=_own_cost(recording, listed),
        workloads=tuple(listed),
        joint_gain=_whole_gain(listed),
        health=tuple(_health(recording_health(recording))),
        ended=_ended(recording),
        exit_code=recording.exit_code,
        exit_signal=recording.exit_signal,
        recording=recording.path,
        start_up=start_up(recording),
    )


def is_part_of_another(recording: Recording, workload: RecordedWorkload) -> bool:
    """An evaluate inside a callback belongs to the fit; a train_on_batch to its loop."""
    by_number = {w.number: w for w in recording.workloads}
    parent = by_number.get(workload.parent or -1)
    if parent is None:
        return False
    if parent.kind == "loop":
        return workload.kind.endswith("_on_batch") or workload.kind == "loop"
    return True


def _diagnosed(
    recording: Recording, workload: RecordedWorkload, rules: Sequence[Rule]
) -> DiagnosedWorkload:
    view = view_of(recording, workload)
    where = Where(workload.file, workload.line or 0) if workload.file else None
    if view is None or view.costs.steady_steps < MIN_STEADY_STEPS:
        return _not_judged(workload, where, view)
    findings = ranked([found for rule in rules if (found := rule.detect(view)) is not None])
    findings = _one_cause_each(findings)
    verdict, sentence = _verdict(view, findings)
    costs = view.costs
    gain = view.input_gain
    return DiagnosedWorkload(
        kind=workload.kind,
        where=where,
        calls=costs.calls,
        steps=costs.steps,
        steady_steps=costs.steady_steps,
        step=_step_time(view),
        breakdown=_breakdown(view),
        ceiling=Ceiling(view.ceiling_step.value, gain) if gain is not None else None,
        verdict=verdict,
        sentence=sentence,
        findings=findings,
        health=tuple(_health(workload_health(view)) + _why_not_judged(view, verdict)),
        joint_gain=_joint(view, findings),
        total_ns=_total_ns(workload),
        not_measured=tuple(not_measured(workload)),
        input=input_line(view),
        first_epoch=first_epoch(workload),
        stalls=stalls(workload),
        iterator_waits=iterator_waits(workload),
        step_rows=step_rows(workload, view.frozen, view.probe_ns("optimizer_update")),
        device=device_time(workload, costs.total.value),
        cost=costs.total,
    )


def _not_judged(
    workload: RecordedWorkload, where: Where | None, view: View | None
) -> DiagnosedWorkload:
    steps = sum(len(block.t) * block.executions for block in workload.blocks)
    calls = len(workload.calls)
    seen = f"{steps} steps in {calls} call{'s' if calls != 1 else ''}"
    reason = f"too short to judge: {seen}; at least {MIN_STEADY_STEPS} after warm-up are needed"
    health = [Health("warning", reason)]
    health += [Health(cast(Level, level), text) for level, text in workload.notes]
    return DiagnosedWorkload(
        kind=workload.kind,
        where=where,
        calls=calls,
        steps=steps,
        steady_steps=view.costs.steady_steps if view else 0,
        step=None,
        breakdown=(),
        ceiling=None,
        verdict="not-judged",
        sentence=f"This {workload.kind} was not judged: {reason}.",
        findings=(),
        health=tuple(health),
        joint_gain=None,
        total_ns=_total_ns(workload),
        not_measured=tuple(not_measured(workload)),
    )


def _step_time(view: View) -> StepTime:
    """The typical step; where the host only enqueues (JAX), its own clock does not tell."""
    costs = view.costs
    runs_ahead = view.frozen is not None and view.frozen.value > RUNS_AHEAD * costs.median_ns
    if view.backend == "jax" and runs_ahead and not view.is_group:
        return StepTime(costs.total.value, costs.total.low, costs.total.high)
    return StepTime(costs.median_ns, costs.p10_ns, costs.p90_ns)


def _why_not_judged(view: View, verdict: Verdict) -> list[Health]:
    """The reason that a verdict of not-judged owes its reader."""
    if verdict != "not-judged":
        return []
    probe = view.recorded.probes.get("frozen_batch")
    unseen = view.recorded.probes.get("loader_alone")
    if probe is not None and probe.reason:
        reason = probe.reason
    elif view.recorded.kind == "loop" and unseen is not None and not unseen.is_ok:
        reason = f"{unseen.reason}, so data and step cannot be told apart"
    elif view.recorded.kind in ("predict", "evaluate"):
        reason = f"long {view.recorded.kind} calls are timed, but not probed"
    else:
        reason = "the training ended or was stopped before it could be probed (it needs 1 s)"
    return [Health("warning", f"not judged: {reason}")]


def _one_cause_each(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Of two findings with the same cause, keep the one that explains more.

    Two explanations of the same waiting are one cause seen twice. Eager execution and
    retracing explain tiny steps; and where a batch callback is the trouble, starting
    several steps at once would only call it less often, which is that finding's cure.
    """
    kept: list[Finding] = []
    rules = {finding.rule for finding in findings}
    for finding in findings:
        if finding.rule == "EN006" and len(rules) > 1:
            continue  # a last resort
        if any(finding.rule == hidden and by & rules for hidden, by in EXPLAINED_BY.items()):
            continue
        if finding.rule in WHY_LOADING_IS_SLOW and any(k.rule in WHY_LOADING_IS_SLOW for k in kept):
            continue
        if finding.rule == "CB001" and _is_the_writer(finding, findings):
            continue
        if finding.rule == "HO002" and any(k.rule in ("HO004", "CO001", "CB001") for k in kept):
            continue
        kept.append(finding)
    return tuple(kept)


def _is_the_writer(finding: Finding, findings: tuple[Finding, ...]) -> bool:
    """A callback that writes files after every batch is CB003's, which knows its options."""
    name = finding.evidence.get("callback")
    return any(f.rule == "CB003" and f.evidence.get("callback") == name for f in findings)


def _joint(view: View, findings: tuple[Finding, ...]) -> Interval | None:
    """The gain of all cures: never less than the best of them alone.

    A cure that saves on the start-up, or on all parts at once, is not bound to one part.
    """
    steady = [finding.saves for finding in findings if finding.saves]
    joint = joint_gain(view.costs.total, steady, _curable_parts(view))
    prices = [finding.gain for finding in findings]
    if joint is not None:
        prices.append(joint)
    return max(prices, key=lambda price: price.value, default=None)


def _breakdown(view: View) -> tuple[Part, ...]:
    total = view.costs.total.value or 1.0
    parts = _as_the_device_sees_it(view)
    rows = [
        Part(name, value, value / total)
        for name, value in parts.items()
        if value > 0 or name == "input_wait"
    ]
    rows.sort(key=lambda part: (part.part == "unknown", -part.ns_per_step))
    return tuple(rows)


def _curable_parts(view: View) -> dict[str, float]:
    """What each part has to give; what the loader holds up goes with the wait for it."""
    parts = _as_the_device_sees_it(view)
    held_up = parts.pop("loader_contention", 0.0)
    return {**parts, "input_wait": parts.get("input_wait", 0.0) + held_up}


def _as_the_device_sees_it(view: View) -> dict[str, float]:
    """Where dispatch is asynchronous (JAX), the host's clock tells of enqueuing.

    The host may fetch data while the device still computes, and the device's work may
    surface as a wait at the end of an epoch. A frozen batch shows how long a step takes.
    """
    parts = dict(view.costs.parts)
    if view.frozen is None or view.is_group:
        return parts
    if view.backend != "jax":
        return _with_contention(view, parts, view.frozen.value)
    wait = parts.get("input_wait", 0.0)
    hidden = max(0.0, wait - max(0.0, view.core.value - view.frozen.value))
    if hidden:
        parts["input_wait"] = wait - hidden
        parts["step"] = parts.get("step", 0.0) + hidden
    for name in ("between_calls", "epoch_gap", "unknown", "callbacks", "validation"):
        missing = max(0.0, view.frozen.value - parts.get("step", 0.0))
        moved = min(missing, parts.get(name, 0.0))
        parts[name] = parts.get(name, 0.0) - moved
        parts["step"] = parts.get("step", 0.0) + moved
    return parts


def _with_contention(view: View, parts: dict[str, float], frozen: float) -> dict[str, float]:
    """A step that takes far longer beside the loader than on a frozen batch is held up by it.

    Loader threads take the interpreter's lock and the cores that the step needs.
    """
    excess = parts.get("step", 0.0) - frozen
    if not input_is_slow(view) or excess < CONTENTION_SHARE * frozen:
        return parts
    return {**parts, "step": frozen, "loader_contention": excess}


def _verdict(view: View, findings: tuple[Finding, ...]) -> tuple[Verdict, str]:
    step = duration(view.costs.total.value)
    unit = view.costs.unit
    if findings:
        first = findings[0]
        return family_of(first), _SENTENCES[family_of(first)].format(step=step, unit=unit)
    if view.is_group:
        return "at-ceiling", f"One call takes {step}; no rule found anything to gain."
    gain = view.input_gain
    if gain is None:
        return "not-judged", (
            f"One step takes {step}. Its ceiling was not measured, so nothing is concluded."
        )
    if gain.value >= INPUT_BOUND and gain.low > 1.05:
        return "input-bound", (
            f"One step takes {step}, {duration(view.ceiling_step.value)} with its data in memory: "
            f"training waits for its input{_why_no_cure(view)}"
        )
    training = view.planned_steps * view.costs.total.value
    if view.costs.one_off_ns > max(START_UP_NS, START_UP_SHARE * training):
        return "start-up-bound", (
            f"Starting takes {duration(view.costs.one_off_ns)}, all {view.planned_steps} steps "
            f"{duration(training)}: a longer run would not be slower."
        )
    device = device_time(view.recorded, view.costs.total.value)
    if device is not None and device.is_idle:
        return "host-bound", (
            f"One step takes {step}, and the GPU works {percent(device.busy_share)} of it: it "
            "waits for the host, which starts its operations one by one. Nothing tried helps."
        )
    share = view.frozen.value / view.costs.total.value if view.frozen else 1.0
    if "between_calls" in view.costs.parts and share < STEP_SHARE:
        return "not-judged", (
            f"One step takes {step}, and its compiled function {percent(share)} of that. The rest "
            "is the code between its calls, whose data could not be read alone: fit, a tf.data "
            "dataset or a DataLoader would show more."
        )
    return "at-ceiling", (
        f"Healthy: {percent(min(1.0, share))} of a step ({step}) is the training step itself, "
        "and nothing measured would make it faster."
    )


def _why_no_cure(view: View) -> str:
    """What is known where no rule has a cure."""
    loader = view.loader
    if loader is None:
        return ", but its loader could not be measured alone."
    if loader.cores + loader.children_cores >= ALL_BUSY * view.cpus:
        return (
            f". Loading keeps all {view.cpus} cores busy: less work per sample, preprocessing "
            "once (pack), or more cores would help, more threads would not."
        )
    return ", but no rule names the cause."


_SENTENCES: dict[str, str] = {
    "input-bound": "Training waits for its data: one {unit} takes {step}.",
    "host-bound": "Starting the work costs more than the work: one {unit} takes {step}.",
    "compile-bound": "Training keeps tracing and compiling anew: one {unit} takes {step}.",
    "callback-bound": "A callback takes the time: one {unit} takes {step}.",
    "compute-bound": "The arithmetic itself is the limit: one {unit} takes {step}.",
    "device-mismatch": "The device does not suit the work: one {unit} takes {step}.",
}


def _total_ns(workload: RecordedWorkload) -> int:
    if workload.calls:
        return sum(call.dur for call in workload.calls)
    spans = [block.t[-1] + block.step[-1] - block.t[0] for block in workload.blocks if block.t]
    return sum(spans)


def _own_cost(recording: Recording, workloads: list[DiagnosedWorkload]) -> float | None:
    cost = recording.overhead.get("ns_per_step")
    steps = [w.step.median_ns for w in workloads if w.step is not None and w.kind == "fit"]
    if cost is None or not steps:
        return None
    return float(cost) / steps[0]


def _whole_gain(workloads: list[DiagnosedWorkload]) -> Interval | None:
    """The gain over all judged workloads: times add up, gains do not."""
    now = sum(w.total_ns for w in workloads)
    if not now or not any(w.joint_gain for w in workloads):
        return None
    after = {"value": 0.0, "low": 0.0, "high": 0.0}
    for workload in workloads:
        gain = workload.joint_gain or Interval.exact(1.0)
        after["value"] += workload.total_ns / gain.value
        after["low"] += workload.total_ns / gain.high
        after["high"] += workload.total_ns / gain.low
    return Interval(now / after["value"], now / after["high"], now / after["low"])


def _health(messages: list[tuple[str, str]]) -> list[Health]:
    known: dict[str, Any] = {"info": "info", "warning": "warning", "error": "error"}
    return [Health(known.get(level, "info"), text) for level, text in messages]


def _ended(recording: Recording) -> str:
    if recording.exit_signal == 2 or recording.exit_code == 130:
        return "interrupted"
    if recording.exit_signal is not None:
        return "killed"
    if recording.examined:
        return "examined"
    if recording.exit_code is None:
        return "unknown"
    return "finished" if recording.exit_code == 0 else "crashed"
