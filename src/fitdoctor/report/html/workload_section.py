"""One workload as the page shows it: texts and shares, ready to be laid out."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.records import RecordedWorkload, Recording
from fitdoctor.findings.diagnosed import DiagnosedWorkload, Diagnosis, Part
from fitdoctor.findings.finding import Finding
from fitdoctor.intervals import Interval
from fitdoctor.report.findings_table import partly
from fitdoctor.report.html.finding_diffs import Line, finding_diff
from fitdoctor.report.html.layers_table import LayerRow, layers_table
from fitdoctor.report.html.pipeline_picture import PipelinePicture, pipeline_picture
from fitdoctor.report.over_time import over_time
from fitdoctor.report.step_time import PART_WORDS, ceiling_words, spread_text, time_text
from fitdoctor.report.terminal import label
from fitdoctor.report.text import place
from fitdoctor.units import gain, percent

SAFETY_WORDS = {
    "safe": "keeps the training the same",
    "unsafe": "may change the training",
    "advice": "advice, no automatic edit",
}


@dataclass(frozen=True)
class Bar:
    """One part of a step."""

    part: str
    word: str
    time: str
    percent: str
    share: float


@dataclass(frozen=True)
class FindingCard:
    """One finding with all that supports it."""

    rule: str
    name: str
    place: str
    message: str
    cure: str
    instead: str  # what an edit gives where the cure is a rewrite
    safety: str
    safety_words: str
    edits: tuple[tuple[str, str], ...]  # place, instruction
    needs_unsafe: bool  # to be made by `fix`
    diff: tuple[Line, ...]  # none where there is no automatic fix
    gain: str
    after: str
    interval: tuple[float, float, float] | None  # low, value, high of the remaining step, 0..1
    evidence: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class WorkloadSection:
    """What one workload's section holds."""

    workload: DiagnosedWorkload
    recorded: RecordedWorkload | None
    label: str
    sentence: str
    cost: str
    spread: str
    ceiling: str
    bars: tuple[Bar, ...]
    findings: tuple[FindingCard, ...]
    joint: str
    pipeline: PipelinePicture | None
    layers: tuple[LayerRow, ...]
    over_time: tuple[str, ...]


def workload_section(
    workload: DiagnosedWorkload, diagnosis: Diagnosis, recording: Recording, cwd: str | None
) -> WorkloadSection:
    """Collect everything the page says about a workload."""
    recorded = _recorded(workload, recording)
    view = view_of(recording, recorded) if recorded is not None else None
    step, cost = workload.step, workload.cost_ns
    several = len(workload.findings) > 1 and workload.joint_gain is not None
    return WorkloadSection(
        workload=workload,
        recorded=recorded,
        label=label(workload, cwd),
        sentence=workload.sentence,
        cost="not measured" if cost is None else time_text(cost),
        spread=spread_text(step) if step else "",
        ceiling=_ceiling(workload),
        bars=tuple(_bar(part) for part in workload.breakdown if math.isfinite(part.share)),
        findings=tuple(
            _card(finding, workload, cwd, finding_diff(finding, diagnosis, recording, cwd))
            for finding in workload.findings
        ),
        joint=gain(workload.joint_gain) if several and workload.joint_gain else "",
        pipeline=pipeline_picture(view),
        layers=layers_table(workload.step_rows),
        over_time=tuple(over_time(workload)),
    )


def _recorded(workload: DiagnosedWorkload, recording: Recording) -> RecordedWorkload | None:
    """The recorded side of a workload: a line trains in one way only."""
    where = workload.where
    place = (where.file, where.line) if where else (None, 0)
    for each in recording.workloads:
        if each.kind == workload.kind and (each.file, each.line or 0) == place:
            return each
    return None


def _bar(part: Part) -> Bar:
    word = PART_WORDS.get(part.part, part.part)
    share = min(1.0, max(0.0, part.share))
    return Bar(part.part, word, time_text(part.ns_per_step), percent(part.share), share)


def _ceiling(workload: DiagnosedWorkload) -> str:
    ceiling = workload.ceiling
    if ceiling is None:
        return ""
    start = f"With its data in memory a step takes {time_text(ceiling.step_ns)}"
    return f"{start}; {ceiling_words(ceiling)}."


def _card(
    finding: Finding, workload: DiagnosedWorkload, cwd: str | None, diff: tuple[Line, ...]
) -> FindingCard:
    where, cure, edited = finding.where, finding.cure, finding.as_edited.cure
    return FindingCard(
        rule=finding.rule,
        name=finding.name,
        place=place(where.file, where.line, cwd=cwd) if where else "",
        message=finding.message,
        cure=cure.summary,
        instead=partly(finding),
        safety=cure.safety,
        safety_words=SAFETY_WORDS[cure.safety],
        edits=tuple(
            (place(edit.where.file, edit.where.line, cwd=cwd), edit.in_words())
            for edit in edited.edits
        ),
        needs_unsafe=edited.safety == "unsafe",
        diff=diff,
        gain=gain(finding.gain),
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
    low, value, high = 1 / ratio.high, 1 / ratio.value, 1 / ratio.low
    return (min(1.0, low), min(1.0, value), min(1.0, high))


def _evidence(value: float | int | str | bool | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
