"""The verdict on one workload, in a word and in a sentence."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fitdoctor.analysis.device_use import device_use
from fitdoctor.analysis.view import View
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.diagnosis.breakdown import parts_with_contention
from fitdoctor.findings.diagnosed import Health, Verdict
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.ranking import family_of
from fitdoctor.units import duration, percent

# Real over frozen step from which training is called input-bound without a named cause.
INPUT_BOUND = 1.15
# A start-up this long, and longer than the training itself, is the thing to know.
START_UP_NS = 3e9
START_UP_SHARE = 1.0
# Cores busy while loading alone, from which they count as all.
ALL_BUSY = 0.85
# Of a loop without a loader: the compiled function is at least this much of a step, or what
# lies between its calls is not known to be needed.
STEP_SHARE = 0.8
# Training and validating below this share of the time is not healthy, rule or not.
TRAINING = ("step", "validation")
HEALTHY_SHARE = 0.6
WORTH_NAMING = 0.2
# Calls inside callbacks that are named: so many, and this share of all such calls' time.
MANY_CALLS = 10
MOST_OF_IT = 0.5
WITHOUT_A_RULE: dict[str, tuple[Verdict, str]] = {
    "input_wait": ("input-bound", "are waiting for data"),
    "loader_contention": ("input-bound", "are loader contention"),
    "epoch_gap": ("host-bound", "lie between epochs"),
    "start_up": ("host-bound", "are the start-up of each call"),
    "callbacks": ("callback-bound", "are callbacks"),
    "checkpoint": ("callback-bound", "are saving"),
    "compile": ("compile-bound", "are tracing and compiling"),
    "unknown": ("not-judged", "are unknown"),
}

_SENTENCES: dict[str, str] = {
    "input-bound": "Training waits for its data: one {unit} takes {step}.",
    "host-bound": "Overhead dominates: one {unit} takes {step}, most of it to start the work.",
    "compile-bound": "Training keeps retracing and recompiling: one {unit} takes {step}.",
    "callback-bound": "A callback takes the time: one {unit} takes {step}.",
    "compute-bound": "The arithmetic itself is the limit: one {unit} takes {step}.",
    "device-mismatch": "The wrong device for this model and batch: one {unit} takes {step}.",
}


def verdict_of(
    view: View, findings: tuple[Finding, ...], inner: Sequence[RecordedWorkload] = ()
) -> tuple[Verdict, str]:
    """A word, and what it means here; `inner` are the calls that callbacks make."""
    step = duration(view.costs.total.value)
    if findings:
        family = family_of(findings[0])
        return family, _SENTENCES[family].format(step=step, unit=view.costs.unit)
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
    named = _start_up(view) or _idle_device(view) or _own_code(view)
    return named or _beside_training(view, inner) or _healthy(view)


def _step_share(view: View) -> float:
    """Of a step's time, the training step itself."""
    return view.frozen.value / max(1.0, view.costs.total.value) if view.frozen else 1.0


def _start_up(view: View) -> tuple[Verdict, str] | None:
    training = view.planned_steps * view.costs.total.value
    if view.costs.one_off_ns <= max(START_UP_NS, START_UP_SHARE * training):
        return None
    return "start-up-bound", (
        f"Starting takes {duration(view.costs.one_off_ns)}, all {view.planned_steps} steps "
        f"{duration(training)}: a longer run would not be slower."
    )


def _idle_device(view: View) -> tuple[Verdict, str] | None:
    total = view.costs.total.value
    device = device_use(view.recorded, total)
    if device is None or not device.is_idle:
        return None
    return "host-bound", (
        f"One step takes {duration(total)}, and the GPU works {percent(device.busy_share)} of it: "
        "it waits for the host, which starts its operations one by one. Nothing tried helps."
    )


def _own_code(view: View) -> tuple[Verdict, str] | None:
    """A loop with much time between the calls that mark its steps."""
    share, step = _step_share(view), duration(view.costs.total.value)
    if "between_calls" not in view.costs.parts or share >= STEP_SHARE:
        return None
    watched = loop_lines(view.recorded)
    if watched is not None:
        line = watched.hot_line("own")
        most = f", most of it at {os.path.basename(line[0])}:{line[1]}" if line else ""
        return "host-bound", (
            f"One step takes {step}, and {percent(share)} of it is the training step; "
            f"{percent(watched.loading)} is reading data, the rest your own code around "
            f"it{most}."
        )
    return "not-judged", (
        f"One step takes {step}, and its compiled function {percent(share)} of that. The rest "
        "is the code between its calls, whose data could not be read alone: fit, a tf.data "
        "dataset or a DataLoader would show more."
    )


def _beside_training(view: View, inner: Sequence[RecordedWorkload]) -> tuple[Verdict, str] | None:
    other = _largest_beside_training(view)
    if other is None:
        return None
    name, ns = other
    family, words = WITHOUT_A_RULE[name]
    return family, (
        f"Only {percent(min(1.0, _step_share(view)))} of a step "
        f"({duration(view.costs.total.value)}) is the training step itself; {duration(ns)} of the "
        f"rest {words}{_called_inside(name, inner)}, and no rule names the cause."
    )


def _healthy(view: View) -> tuple[Verdict, str]:
    return "at-ceiling", (
        f"Healthy: {percent(min(1.0, _step_share(view)))} of a step "
        f"({duration(view.costs.total.value)}) is the training step itself, and nothing measured "
        "would make it faster."
    )


def _called_inside(name: str, inner: Sequence[RecordedWorkload]) -> str:
    """The calls of Keras that a callback makes again and again, where they take most of it."""
    if name != "callbacks" or not inner:
        return ""
    taken = {one.number: sum(call.dur for call in one.calls) for one in inner}
    most = max(inner, key=lambda one: taken[one.number])
    count = len(most.calls)
    if not most.file or count < MANY_CALLS or taken[most.number] < MOST_OF_IT * sum(taken.values()):
        return ""
    return (
        f", mostly {most.kind} at {os.path.basename(most.file)}:{most.line}, called {count} times "
        f"for {duration(taken[most.number] / count)} each"
    )


def _largest_beside_training(view: View) -> tuple[str, float] | None:
    """What takes most of the time where training takes too little of it to be called healthy."""
    parts = parts_with_contention(view)
    total = sum(parts.values()) or 1.0
    training = sum(parts.get(name, 0.0) for name in TRAINING)
    if training >= HEALTHY_SHARE * total:
        return None
    others = {name: ns for name, ns in parts.items() if name in WITHOUT_A_RULE}
    if not others:
        return None
    name = max(others, key=lambda one: others[one])
    return (name, others[name]) if others[name] >= WORTH_NAMING * total else None


def _why_no_cure(view: View) -> str:
    """What is known where no rule has a cure."""
    loader = view.loader
    if loader is None:
        return ", but its loader could not be measured alone."
    if loader.busy_cores >= ALL_BUSY * view.cpus:
        return (
            f". Loading keeps all {view.cpus} cores busy: less work per sample, preprocessing "
            "once (pack), or more cores would help, more threads would not."
        )
    return ", but no rule names the cause."


def why_not_judged(view: View, verdict: Verdict) -> list[Health]:
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
