"""A script and what fitdoctor would change in it: examine, plan the patch, predict its gain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fitdoctor.contract.errors import FitdoctorError, UsageError
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import Recording, Script
from fitdoctor.cures.patch import Applied, Patch
from fitdoctor.cures.prescription import prescribe
from fitdoctor.diagnosis import diagnose
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.rounds import Rounds, longest
from fitdoctor.proof.measured import steady_step_ns
from fitdoctor.proof.process import run_side
from fitdoctor.proof.side import Side
from fitdoctor.proof.timeline import timeline_of

# Probes of a long examination run well beyond the recorded window.
PROBES_S = 240.0


class ExaminationFailed(FitdoctorError):
    """The script could not be examined; there is nothing to cure."""

    exit_code = 1


@dataclass(frozen=True)
class Examined:
    """The diagnosis of a script, and where it was run."""

    target: Side
    diagnosis: Diagnosis
    recording: Recording
    step_ns: float | None = None  # steady state, measured as a proof measures it

    @property
    def findings(self) -> list[Finding]:
        """Everything found, the largest gain first."""
        found = [f for workload in self.diagnosis.workloads for f in workload.findings]
        return sorted(found, key=lambda finding: -finding.gain.value)


def examine(target: Side, folder: Path, *, budget_s: float) -> Examined:
    """`fitdoctor run` without its screen.

    Raises:
        ExaminationFailed: the script failed, or trained nothing that was seen.
    """
    options = RunOptions(budget_s=budget_s)
    run = run_side(target, folder, options=options, limit_s=budget_s + PROBES_S, sampled=True)
    if run.failed:
        raise ExaminationFailed(
            f"{target.target} failed while it was examined: {run.how}",
            expected="a script that trains",
            advice=f"fitdoctor run {target.target}",
        )
    return _judged(target, run.recording)


def examined_before(target: Side, path: Path) -> Examined:
    """The examination that `fitdoctor run` already made of the same script.

    Raises:
        UsageError: the recording is of another script, or of other arguments.
        ExaminationFailed: nothing that was seen trained.
    """
    recording = read_recording(path)
    was = recording.header.script
    if was != Script(target.target, target.args, target.module):
        raise UsageError(
            f"{path} is a recording of {' '.join([was.path, *was.argv])}, "
            f"not of {' '.join([target.target, *target.args])}",
            expected="a recording of the same script with the same arguments",
            advice="leave --from out: the script is then examined first",
        )
    return _judged(target, recording)


def _judged(target: Side, recording: Recording) -> Examined:
    diagnosis = diagnose(recording)
    if not diagnosis.workloads:
        raise ExaminationFailed(
            f"{target.target} did not train with Keras",
            expected="a script that calls fit, predict, evaluate or trains in a loop",
            advice=f"fitdoctor run {target.target}",
        )
    timeline = timeline_of(recording)
    epoch = timeline.epoch_steps if timeline is not None else None
    known = replace(target, rounds=Rounds(epoch_steps=epoch))
    return Examined(known, diagnosis, recording, steady_step_ns(recording))


def patch_of(
    examined: Examined,
    findings: Sequence[Finding],
    *,
    unsafe: bool,
    pack: str | None = None,
    in_process: bool = False,
) -> Patch:
    """The patch of these findings; nothing outside the project is changed.

    With `in_process`, cures that the source cannot take are made in the running script instead.
    """
    prescription = prescribe(
        examined.recording,
        examined.diagnosis,
        unsafe=unsafe,
        wanted=lambda finding: any(one in (finding, finding.as_edited) for one in findings),
        pack=pack,
        in_process=in_process,
    )
    return prescription.patch


def plain_side(target: Side) -> Side:
    """The script as it is, started as the changed one is."""
    return Side("A", target.target, target.args, target.module, {})


def cured_side(target: Side, patch: Patch, name: str = "B") -> Side:
    """The script with the patch, its files untouched."""
    sources = {path: change.new_text for path, change in patch.files.items()}
    steps_in_one = math.prod(one.finding.cure.steps_in_one for one in patch.applied)
    rounds = longest(edit.rounds() for one in patch.applied for edit in one.edits)
    return replace(
        target,
        name=name,
        sources=sources,
        steps_in_one=steps_in_one,
        rounds=replace(rounds, epoch_steps=target.rounds.epoch_steps),
        calls=patch.calls,
    )


def applied_lines(patch: Patch) -> tuple[str, ...]:
    """What the patch does, one line for each cure."""
    return tuple(line_of(one.finding) + _form(one) for one in patch.applied)


def _form(applied: Applied) -> str:
    if applied.not_in_source is None:
        return ""
    return f" (in the process; the source cannot take it: {applied.not_in_source})"


def line_of(finding: Finding) -> str:
    """A cure in one line."""
    where = finding.where
    place = f" {Path(where.file).name}:{where.line}" if where is not None else ""
    return f"{finding.rule} {finding.name}{place}: {finding.cure.summary}"
