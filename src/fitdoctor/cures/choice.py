"""Which cures go into a patch together: those that add to the gain of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fitdoctor.cures.patch import Declined
from fitdoctor.findings.diagnosed import DiagnosedWorkload, Diagnosis
from fitdoctor.findings.finding import Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.calibration import joint_width
from fitdoctor.pricing.joint import gain_over_workloads, joint_gain

# A cure that raises the joint gain by less than this is not worth a change of the source.
ADDS = 1.01


def choose(
    diagnosis: Diagnosis,
    *,
    unsafe: bool = False,
    wanted: Callable[[Finding], bool] = lambda finding: True,
    impossible: Sequence[Finding] = (),
    packs: bool = False,
) -> tuple[list[Finding], list[Declined]]:
    """The findings to cure, the largest gain first, and those left out with the reason.

    Two cures of one part of a step do not add up; the second of them changes the source for
    nothing. Cures that cannot be made are no reason to leave another one out; `impossible`
    are those that were found to be so. Without `packs`, so are those that store data.
    """

    def can_be_made(finding: Finding) -> bool:
        cure = finding.cure
        found_out = any(finding is one for one in impossible)
        stores = cure.packing is not None and not packs
        allowed = ("safe", "unsafe") if unsafe else ("safe",)
        return not found_out and not stores and bool(cure.edits) and cure.safety in allowed

    chosen: list[Finding] = []
    left_out: list[Declined] = []
    for workload in diagnosis.workloads:
        taken: list[Finding] = []
        plan = _plan_of(workload, can_be_made) if all(map(wanted, workload.findings)) else None
        if plan is not None:
            chosen.append(plan)
            taken.append(plan)
        for finding in (one.as_edited for one in workload.findings if wanted(one)):
            if plan is not None and can_be_made(finding) and _is_input(finding):
                left_out.append(Declined(finding, "not-chosen", "the input plan is made instead"))
                continue
            if can_be_made(finding) and not _adds(workload, taken, finding):
                rules = " and ".join(one.rule for one in taken)
                reason = f"adds nothing to {rules}, which saves the same time"
                left_out.append(Declined(finding, "not-chosen", reason))
                continue
            chosen.append(finding)
            if can_be_made(finding):
                taken.append(finding)
    chosen.sort(key=lambda finding: -finding.gain.value)
    return chosen, left_out


def _plan_of(workload: DiagnosedWorkload, can_be_made: Callable[[Finding], bool]) -> Finding | None:
    """All input cures as one, where it can be made and does more than those that can.

    Whoever names a folder for stored data wants it stored: no plan has that in it.
    """
    plan = workload.input_plan
    made = [one for one in (plan, *plan.also) if can_be_made(one)] if plan is not None else []
    best = max(made, key=lambda one: one.gain.value, default=None)
    single = [f for one in workload.findings if can_be_made(f := one.as_edited) and _is_input(f)]
    if any(one.cure.packing is not None for one in single):
        return None
    most = max((one.gain.value for one in single), default=1.0)
    return best if best is not None and best.gain.value > most else None


def _is_input(finding: Finding) -> bool:
    """A cure of the loading itself, which a plan of the whole pipeline takes into account."""
    return finding.rule.startswith("IN") and set(finding.saves) <= {"input_wait"}


def predicted(diagnosis: Diagnosis, cured: list[Finding]) -> Interval | None:
    """The gain over all judged workloads when these findings are cured."""
    gain = gain_over_workloads([(w.total_ns, _gain(w, _of(w, cured))) for w in diagnosis.workloads])
    # What is left may be nearly all of a workload that is not cured; its pace changes as well.
    return None if gain is None or not cured else joint_width(cured).around(gain)


def _of(workload: DiagnosedWorkload, cured: list[Finding]) -> list[Finding]:
    plan = workload.input_plan
    plans = () if plan is None else (plan, *plan.also)
    edited = [*plans, *(finding.as_edited for finding in workload.findings)]
    return [finding for finding in edited if finding in cured]


def _adds(workload: DiagnosedWorkload, taken: list[Finding], finding: Finding) -> bool:
    if not taken:
        return True
    before, after = _gain(workload, taken), _gain(workload, [*taken, finding])
    return before is None or after is None or after.value >= ADDS * before.value


def _gain(workload: DiagnosedWorkload, findings: list[Finding]) -> Interval | None:
    cost = workload.cost_ns
    if cost is None:
        return None
    parts = {part.part: part.ns_per_step for part in workload.breakdown}
    return joint_gain(Interval.exact(cost), parts, findings)
