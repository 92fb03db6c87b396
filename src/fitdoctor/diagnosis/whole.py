"""RECORDING -> DIAGNOSIS: analysis, rules, ranking and the verdict, workload by workload."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from fitdoctor.analysis.anomalies import first_epoch, iterator_waits, stalls
from fitdoctor.analysis.build_view import view_of
from fitdoctor.analysis.device_use import device_use
from fitdoctor.analysis.health import not_measured, recording_health, workload_health
from fitdoctor.analysis.input_line import input_line
from fitdoctor.analysis.loops_inside import PART as LOOP_INSIDE
from fitdoctor.analysis.missing_gpu import missing_gpu
from fitdoctor.analysis.start_up import start_up
from fitdoctor.analysis.step_rows import step_rows
from fitdoctor.analysis.timeline import timeline
from fitdoctor.analysis.validation_between import is_loop, validations_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.model import OptimizerUpdate
from fitdoctor.contract.records import RecordedWorkload, Recording
from fitdoctor.diagnosis.account import account_of
from fitdoctor.diagnosis.breakdown import breakdown, parts_with_contention
from fitdoctor.diagnosis.input_plan import input_plan
from fitdoctor.diagnosis.one_cause import one_cause_each
from fitdoctor.diagnosis.run_gain import by_run_gain, with_run_gains
from fitdoctor.diagnosis.tried import with_trials
from fitdoctor.diagnosis.verdict import verdict_of, why_not_judged
from fitdoctor.findings.diagnosed import (
    Ceiling,
    DiagnosedWorkload,
    Diagnosis,
    Health,
    StepTime,
)
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where, place_of
from fitdoctor.findings.ranking import ranked
from fitdoctor.pricing.calibration import calibrated
from fitdoctor.pricing.joint import gain_over_workloads, joint_gain
from fitdoctor.rules import all_rules
from fitdoctor.rules.rule import Rule

# A workload below this share of the recorded time is not worth a line of its own.
SMALL_SHARE = 0.02
MIN_STEADY_STEPS = 5


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
        version=header.fitdoctor,
        script=header.script.path,
        argv=header.script.argv,
        machine=recording.machine,
        keras=recording.keras,
        recorder_ratio=_own_cost(recording, listed),
        workloads=tuple(listed),
        joint_gain=gain_over_workloads([(one.total_ns, one.joint_gain) for one in listed]),
        health=tuple(_health(recording_health(recording))),
        ended=_ended(recording),
        exit_code=recording.exit_code,
        exit_signal=recording.exit_signal,
        recording=recording.path,
        start_up=start_up(recording),
        timeline=timeline(recording),
        unseen=recording.unseen,
    )


def is_part_of_another(recording: Recording, workload: RecordedWorkload) -> bool:
    """An evaluate inside a callback belongs to the fit; a train_on_batch to its loop.

    So does an evaluate that a loop comes to again and again.
    """
    by_number = {w.number: w for w in recording.workloads}
    parent = by_number.get(workload.parent or -1)
    if parent is None:
        loops = (one for one in recording.workloads if is_loop(one))
        return any(workload in validations_of(recording, one) for one in loops)
    if parent.kind == "loop":
        return workload.kind.endswith("_on_batch") or workload.kind == "loop"
    return True


def _diagnosed(
    recording: Recording, workload: RecordedWorkload, rules: Sequence[Rule]
) -> DiagnosedWorkload:
    view = view_of(recording, workload)
    where = place_of(workload)
    if view is None or view.costs.steady_steps < MIN_STEADY_STEPS:
        return _not_judged(workload, where, view, _repairs(recording, workload))
    detected = [found for rule in rules if (found := rule.detect(view)) is not None]
    warnings = [_warning(one) for one in detected if one.is_warning]
    slow = [one for one in detected if not one.is_warning]
    findings = ranked(with_trials(view, slow))
    sure = [calibrated(one) for one in one_cause_each(findings, rules)]
    listed = by_run_gain(with_run_gains(view, sure))
    findings = tuple(one for one in listed if not one.is_option)
    plan = _input_plan(view, findings)
    account = account_of(view, findings)
    verdict, sentence = verdict_of(view, findings, account)
    costs = view.costs
    return DiagnosedWorkload(
        kind=workload.kind,
        where=where,
        calls=costs.calls,
        steps=costs.steps,
        steady_steps=costs.steady_steps,
        step=_step_time(view),
        breakdown=breakdown(view),
        ceiling=_ceiling(view, findings),
        verdict=verdict,
        sentence=sentence,
        findings=findings,
        health=(
            *_repairs(recording, workload),
            *warnings,
            *_health(workload_health(view)),
            *why_not_judged(view, verdict),
        ),
        joint_gain=joint_gain(
            costs.total, parts_with_contention(view), [*findings, *([plan] if plan else [])]
        ),
        total_ns=_total_with_what_it_waits_for(view),
        not_measured=tuple(not_measured(workload)),
        input=input_line(view),
        # Of steps that are only enqueued, the host's clock tells nothing of either.
        first_epoch=None if view.runs_ahead else first_epoch(workload),
        stalls=None if view.runs_ahead else stalls(workload),
        iterator_waits=iterator_waits(workload),
        step_rows=step_rows(workload, view.frozen, view.timed(OptimizerUpdate)),
        device=device_use(workload, costs.total.value),
        cost=costs.total,
        options=() if findings else tuple(one for one in listed if one.is_option),
        account=account,
        input_plan=plan,
    )


def _input_plan(view: View, findings: tuple[Finding, ...]) -> Finding | None:
    plan = input_plan(view, findings)
    return None if plan is None else with_run_gains(view, [calibrated(plan)])[0]


def _ceiling(view: View, findings: tuple[Finding, ...]) -> Ceiling | None:
    """The step with its data in memory; unknown for a loop whose loader was not seen.

    All input cured gives at least what one of its cures does: that may also save what lies
    between epochs, where each of them waits for its first batch.
    """
    gain = view.input_gain
    if gain is None or (view.recorded.kind == "loop" and view.loader is None):
        return None
    cures = [finding.gain for finding in findings if finding.rule.startswith("IN")]
    best = max([gain, *cures], key=lambda one: one.value)
    return Ceiling(view.ceiling_step.value, best)


def _not_judged(
    workload: RecordedWorkload, where: Where | None, view: View | None, repairs: Sequence[Health]
) -> DiagnosedWorkload:
    steps = sum(len(block.t) * block.executions for block in workload.blocks)
    calls = len(workload.calls)
    seen = f"{steps} steps in {calls} call{'s' if calls != 1 else ''}"
    reason = f"too short to judge: {seen}; at least {MIN_STEADY_STEPS} after warm-up are needed"
    health = [Health("warning", reason), *repairs, *_health(workload.notes)]
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
    if view.runs_ahead:
        return StepTime(costs.total.value, costs.total.low, costs.total.high)
    return StepTime(costs.median_ns, costs.p10_ns, costs.p90_ns)


def _total_ns(workload: RecordedWorkload) -> int:
    if workload.calls:
        return sum(call.dur for call in workload.calls)
    return sum(one.t[-1] + one.step[-1] - one.t[0] for one in workload.blocks if one.t)


def _total_with_what_it_waits_for(view: View) -> int:
    """With evaluations between its steps; without loops inside it, which are listed themselves."""
    total = _total_ns(view.recorded) + sum(_total_ns(one) for one in view.validations)
    inside = view.costs.parts.get(LOOP_INSIDE, 0.0) / view.costs.total.value
    return round(total * (1.0 - inside))


def _own_cost(recording: Recording, workloads: list[DiagnosedWorkload]) -> float | None:
    cost = recording.own_cost_ns
    steps = [w.step.median_ns for w in workloads if w.step is not None and w.kind == "fit"]
    return cost / steps[0] if cost is not None and steps and steps[0] else None


def _health(messages: Iterable[tuple[str, str]]) -> list[Health]:
    known: dict[str, Any] = {"info": "info", "warning": "warning", "error": "error"}
    return [Health(known.get(level, "info"), text) for level, text in messages]


def _repairs(recording: Recording, workload: RecordedWorkload) -> list[Health]:
    """A GPU that the backend cannot use."""
    found = missing_gpu(recording.machine, recording.keras, workload)
    return [] if found is None else [Health(found.level, found.message, found.command)]


def _warning(finding: Finding) -> Health:
    """What a rule found that takes no time yet."""
    place = finding.where
    at = (
        "" if place is None or place.line < 1 else f" ({os.path.basename(place.file)}:{place.line})"
    )
    text = f"{finding.name} ({finding.rule}): {finding.message}{at}; {finding.cure.summary}"
    return Health("warning", text, rule=finding.rule)


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
