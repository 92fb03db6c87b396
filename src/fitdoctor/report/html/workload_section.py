"""One workload as the page shows it: texts and shares, ready to be laid out."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fitdoctor.analysis.build_view import view_of
from fitdoctor.analysis.step_rows import StepRow
from fitdoctor.contract.records import RecordedWorkload, Recording
from fitdoctor.findings.diagnosed import DiagnosedWorkload, Diagnosis, Part
from fitdoctor.findings.finding import Finding
from fitdoctor.intervals import Interval
from fitdoctor.report.details import partly
from fitdoctor.report.gain_words import gain_words, run_words
from fitdoctor.report.html.account_bar import BarPart, account_bar
from fitdoctor.report.html.finding_diffs import Line, finding_diff
from fitdoctor.report.html.pipeline_picture import PipelinePicture, pipeline_picture
from fitdoctor.report.over_time import over_time
from fitdoctor.report.step_time import ceiling_sentence, costliest, spread_text, time_text
from fitdoctor.report.terminal import label
from fitdoctor.report.text import place
from fitdoctor.units import gain

SAFETY_WORDS = {
    "safe": "keeps the training the same",
    "unsafe": "may change the training",
    "advice": "advice, no automatic edit",
}

# Layers that a reader looks at; the others are summed up in one row.
MOST_LAYERS = 12


@dataclass(frozen=True)
class FindingCard:
    """One finding with all that supports it."""

    finding: Finding
    place: str
    instead: str  # what an edit gives where the cure is a rewrite
    safety_words: str
    edits: tuple[tuple[str, str], ...]  # place, instruction
    diff: tuple[Line, ...]  # none where there is no automatic fix
    gain: str  # with how it is known
    after: str
    interval: tuple[float, float, float] | None  # low, value, high of the remaining step, 0..1
    evidence: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class WorkloadSection:
    """What one workload's section holds."""

    workload: DiagnosedWorkload
    recorded: RecordedWorkload | None
    label: str
    cost: str
    spread: str
    ceiling: str
    parts: tuple[Part, ...]
    findings: tuple[FindingCard, ...]
    joint: str
    pipeline: PipelinePicture | None
    layers: tuple[StepRow, ...]
    over_time: tuple[str, ...]
    account: tuple[BarPart, ...] = ()


def workload_section(
    workload: DiagnosedWorkload, diagnosis: Diagnosis, recording: Recording, cwd: str | None
) -> WorkloadSection:
    """Collect everything the page says about a workload."""
    recorded = _recorded(workload, recording)
    view = view_of(recording, recorded) if recorded is not None else None
    step, cost = workload.step, workload.cost_ns
    joint = workload.joint_gain if len(workload.findings) > 1 else None
    return WorkloadSection(
        workload=workload,
        recorded=recorded,
        label=label(workload, cwd),
        cost="not measured" if cost is None else time_text(cost),
        spread=spread_text(step) if step else "",
        ceiling=_ceiling(workload),
        parts=tuple(part for part in workload.breakdown if math.isfinite(part.share)),
        findings=tuple(
            _card(finding, workload, cwd, finding_diff(finding, diagnosis, recording, cwd))
            for finding in workload.findings
        ),
        joint=gain(joint) if joint else "",
        pipeline=pipeline_picture(view),
        layers=layers_table(workload.step_rows),
        over_time=tuple(over_time(workload)),
        account=account_bar(workload, cwd),
    )


def layers_table(rows: tuple[StepRow, ...]) -> tuple[StepRow, ...]:
    """Cost by layer, then the optimizer and the rest; empty where layers were not timed."""
    shown, more, others = costliest(rows, MOST_LAYERS)
    return (*shown, *more, *others)


def _recorded(workload: DiagnosedWorkload, recording: Recording) -> RecordedWorkload | None:
    """The recorded side of a workload: a line trains in one way only."""
    where = workload.where
    place = (where.file, where.line) if where else (None, 0)
    wanted = (workload.kind, *place)
    found = (one for one in recording.workloads if (one.kind, one.file, one.line or 0) == wanted)
    return next(found, None)


def _ceiling(workload: DiagnosedWorkload) -> str:
    ceiling = workload.ceiling
    return "" if ceiling is None else ceiling_sentence(workload, ceiling)


def _card(
    finding: Finding, workload: DiagnosedWorkload, cwd: str | None, diff: tuple[Line, ...]
) -> FindingCard:
    where = finding.where
    return FindingCard(
        finding=finding,
        place=place(where.file, where.line, cwd=cwd) if where else "",
        instead=partly(finding),
        safety_words=SAFETY_WORDS[finding.cure.safety],
        edits=tuple(
            (place(edit.where.file, edit.where.line, cwd=cwd), edit.in_words())
            for edit in finding.as_edited.cure.edits
        ),
        diff=diff,
        gain="; ".join(filter(None, (gain_words(finding), run_words(finding)))),
        after=_after(workload, finding.gain),
        interval=_left(finding.gain),
        evidence=tuple((str(key), _evidence(value)) for key, value in finding.evidence.items()),
    )


def _after(workload: DiagnosedWorkload, ratio: Interval) -> str:
    cost = workload.cost_ns
    return time_text(cost / ratio.value) if cost is not None and ratio.value > 0 else ""


def _left(ratio: Interval) -> tuple[float, float, float] | None:
    """What is left of a step, as shares of it: the best, the expected and the worst case."""
    if ratio.low <= 0:
        return None
    return min(1.0, 1 / ratio.high), min(1.0, 1 / ratio.value), min(1.0, 1 / ratio.low)


def _evidence(value: float | int | str | bool | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
