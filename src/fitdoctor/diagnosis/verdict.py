"""The verdict on one workload, in a word and in a sentence: from its findings and its account."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fitdoctor.analysis.device_use import device_use
from fitdoctor.analysis.leaves import WHOLE
from fitdoctor.analysis.loop_parts import OWN_CODE
from fitdoctor.analysis.view import View
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.diagnosis.account import as_bound, unexplained
from fitdoctor.findings.account_row import AccountRow
from fitdoctor.findings.diagnosed import Health, Verdict
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.ranking import family_of
from fitdoctor.units import duration, factor, percent

# Real over frozen step from which training is called input-bound without a named cause.
INPUT_BOUND = 1.15
# A start-up this long, and longer than the training itself, is the thing to know.
START_UP_NS = 3e9
START_UP_SHARE = 1.0
# Cores busy while loading alone, from which they count as all.
ALL_BUSY = 0.85
# Healthy is earned: less than this share of a step may be neither explained nor at the ceiling.
UNEXPLAINED_SHARE = 0.2
# Calls inside callbacks that are named: so many, and this share of all such calls' time.
MANY_CALLS = 10
MOST_OF_IT = 0.5
WITHOUT_A_RULE: dict[str, tuple[Verdict, str]] = {
    "input_wait": ("input-bound", "waiting for data"),
    "loader_contention": ("input-bound", "loader contention"),
    "epoch_gap": ("host-bound", "spent between epochs"),
    "start_up": ("host-bound", "the start-up of each call"),
    "callbacks": ("callback-bound", "spent in callbacks"),
    "checkpoint": ("callback-bound", "spent saving"),
    "compile": ("compile-bound", "tracing and compiling"),
    "step": ("compute-bound", "in the step, above what its arithmetic needs"),
    OWN_CODE: ("host-bound", "your own code around the step"),
    "unknown": ("host-bound", "outside of everything that was timed"),
}

_SENTENCES: dict[str, str] = {
    "input-bound": "Training waits for its data: one {unit} takes {step}.",
    "host-bound": "Overhead dominates: one {unit} takes {step}, most of it to start the work.",
    "compile-bound": "Training keeps retracing and recompiling: one {unit} takes {step}.",
    "callback-bound": "A callback takes the time: one {unit} takes {step}.",
    "compute-bound": "The arithmetic itself is the limit: one {unit} takes {step}.",
    "device-mismatch": "The wrong device for this model and batch: one {unit} takes {step}.",
}
# Where the family's own sentence would not fit.
_OF_RULES: dict[str, str] = {
    "CB002": "Validation takes the time: one {unit} takes {step}.",
    "EN011": "The other processes wait for this one: one {unit} takes {step}.",
    "CO005": "Compiling takes much of the run, and nothing keeps it: one {unit} takes {step}.",
    "EN004": "Training becomes slower and slower: one {unit} takes {step} by now.",
    "HO005": "Your own code around the step takes the time: one {unit} takes {step}.",
    "HO006": "Host and device take turns: one {unit} takes {step}.",
    "MO009": "The step is far slower than its arithmetic needs: one {unit} takes {step}.",
}


def verdict_of(
    view: View,
    findings: tuple[Finding, ...],
    account: Sequence[AccountRow],
) -> tuple[Verdict, str]:
    """A word, and what it means here."""
    if findings:
        return _of_finding(view, findings[0])
    if not view.is_group:
        gain = view.input_gain
        if gain is None:
            return _without_ceiling(view, account)
        if gain.value >= INPUT_BOUND and gain.low > 1.05:
            return "input-bound", (
                f"One step takes {duration(view.costs.total.value)}, "
                f"{duration(view.ceiling_step.value)} with its data in memory: training waits for "
                f"its input{_why_no_cure(view)}"
            )
    named = None if view.is_group else _start_up(view) or _launching(view) or _idle_device(view)
    named = named or _unseen(view, account)
    return named or _unexplained(view, account) or _healthy(view, account)


def _of_finding(view: View, finding: Finding) -> tuple[Verdict, str]:
    family = family_of(finding)
    text = _OF_RULES.get(finding.rule, _SENTENCES[family])
    return family, text.format(step=duration(view.costs.total.value), unit=view.costs.unit)


def _without_ceiling(view: View, account: Sequence[AccountRow]) -> tuple[Verdict, str]:
    """The step could not be run alone: what is beside it may still be the answer."""
    beside = [row for row in account if row.part not in ("step", "unknown")]
    if sum(row.ns for row in beside) >= UNEXPLAINED_SHARE * view.costs.total.value:
        found = _unexplained(view, beside)
        if found is not None:
            return found
    return "not-judged", (
        f"One step takes {duration(view.costs.total.value)}. Its ceiling was not measured, so "
        "nothing is concluded."
    )


def _step_share(view: View) -> float:
    """Of a step's time, the training step itself."""
    return view.frozen.value / max(1.0, view.costs.total.value) if view.frozen else 1.0


def _start_up(view: View) -> tuple[Verdict, str] | None:
    training = view.planned_steps * view.costs.total.value
    if not view.is_length_known:
        return None
    if view.costs.one_off_ns <= max(START_UP_NS, START_UP_SHARE * training):
        return None
    return "start-up-bound", (
        f"Starting takes {duration(view.costs.one_off_ns)}, all {view.planned_steps} steps "
        f"{duration(training)}: a longer run would not be slower."
    )


def _launching(view: View) -> tuple[Verdict, str] | None:
    """A GPU may look busy with kernels that do nearly nothing."""
    total = view.costs.total.value
    device = device_use(view.recorded, total)
    if device is None or device.bound != "launch" or device.starting_ns is None:
        return None
    starting, busy = duration(device.starting_ns), percent(device.busy_share)
    return "host-bound", (
        f"Launch-bound inside the step: of {duration(total)}, {starting} go into starting "
        f"{device.kernels:,.0f} kernels (the GPU is busy {busy} of it). Nothing tried helps."
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


def _unexplained(view: View, account: Sequence[AccountRow]) -> tuple[Verdict, str] | None:
    """The largest part of what is neither at the ceiling nor explained, where that is much."""
    share = unexplained(account)
    if share < UNEXPLAINED_SHARE:
        return None
    rows = [row for row in account if row.state == "unexplained"]
    parts = {row.part for row in rows}
    part = max(parts, key=lambda one: sum(row.ns for row in rows if row.part == one))
    of_part = [row for row in rows if row.part == part]
    verdict, words = WITHOUT_A_RULE.get(part, ("host-bound", part))
    spent = sum(row.ns for row in of_part)
    bound = factor(as_bound(view, of_part).value)
    place = f"{_where(of_part)}{_called_inside(part, view.inner)}"
    return verdict, (
        f"One {view.costs.unit} takes {duration(view.costs.total.value)}, of which "
        f"{duration(spent)} is {words}{place}; no rule names the cause (at most {bound}× faster "
        "if this cost nothing)."
    )


def _unseen(view: View, account: Sequence[AccountRow]) -> tuple[Verdict, str] | None:
    """A step whose inside nothing could look at: it may be healthy, or not."""
    lost = sum(row.ns for row in account if row.what == WHOLE and row.state == "unexplained")
    if lost < UNEXPLAINED_SHARE * view.costs.total.value:
        return None
    return "not-judged", (
        f"One step takes {duration(view.costs.total.value)}, {duration(lost)} of it in the "
        "framework, and could not be examined by itself, so nothing is concluded."
    )


def _where(rows: Sequence[AccountRow]) -> str:
    """The place of the largest row, where it has one."""
    top = max(rows, key=lambda row: row.ns)
    if top.where is not None:
        return f", most of it at {os.path.basename(top.where.file)}:{top.where.line}"
    return f", most of it in {top.what}" if top.what not in (top.part, "the rest") else ""


def _healthy(view: View, account: Sequence[AccountRow]) -> tuple[Verdict, str]:
    total = duration(view.costs.total.value)
    if view.is_group:
        return "at-ceiling", f"Healthy: one call takes {total}, and nothing tried is faster."
    return "at-ceiling", (
        f"Healthy: {percent(min(1.0, _step_share(view)))} of a step ({total}) is the training step "
        f"itself, {percent(unexplained(account))} is unexplained, and nothing tried makes it "
        "faster."
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
    probes = view.recorded.probes
    unseen = (probes.get(name) for name in ("frozen_batch", "step_alone", "loader_alone"))
    reasons = [probe.reason for probe in unseen if probe is not None and not probe.is_ok]
    if reasons:
        reason = reasons[0]
    elif view.recorded.kind in ("predict", "evaluate"):
        reason = f"long {view.recorded.kind} calls are timed, but not probed"
    else:
        reason = "the training ended or was stopped before it could be probed (it needs 1 s)"
    return [Health("warning", f"not judged: {reason}")]
