"""Tries a cure as it is: the changed source, for a few seconds, in a fresh process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fitdoctor.analysis.start_up import process_start_ns
from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.evidence.cure_trial import CureTrial
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.options import RunOptions, StepLimit
from fitdoctor.contract.records import ProbeRun, Raw, Recording, Script
from fitdoctor.contract.results import recorded_name, to_record
from fitdoctor.contract.writer import append, record_of
from fitdoctor.findings.diagnosed import DiagnosedWorkload
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import place_of
from fitdoctor.proof.compared import stretches
from fitdoctor.proof.cured import Examined, cured_side, examined_before, patch_of, plain_side
from fitdoctor.proof.measured import DISTURBED_SHARE, LEAST_STEPS, CannotCompare
from fitdoctor.proof.process import run_side
from fitdoctor.proof.side import Side
from fitdoctor.proof.timeline import Timeline, timeline_of

# Of the findings, so many are tried: the first ones are what a user does.
MOST_TRIALS = 2
# A smaller gain drowns in the difference between two processes.
WORTH_TRIAL = 1.2
# The cured steps that are watched, in seconds.
WINDOW_S = 4.0
# Ends of a process, and what a start takes longer than the one before.
SLACK_S = 3.0
# A cure of one workload shows in the whole script where that is nearly all of it.
NEARLY_ALL = 0.9
# Part of a round more than one, so that a whole one surely lies within the run.
BEYOND_ROUND = 1.2

Say = Callable[[str], None]


class _OutOfTime(Exception):
    """The budget does not allow a run; the message says how long it takes."""


@dataclass(frozen=True)
class _Run:
    """The steps of one process, and what its start took."""

    timeline: Timeline
    start_ns: float | None


def try_cures(recording: Path, script: Script, budget_s: float, say: Say) -> None:
    """Try the first findings' edits; append what was seen as results of their workload.

    Args:
        recording: of the examination; the results go there.
        script: as it was started.
        budget_s: seconds from the first step to the verdict, as far as trials may delay it.
        say: progress.
    """
    target = Side("A", script.path, script.argv, script.module)
    examined = examined_before(target, recording)
    before = _run_of(examined.recording)
    first = _first_step_ns(examined.recording)
    if before is None or first is None or not _has_one_workload(examined):
        return
    deadline = first + int(budget_s * NS_PER_S)
    main = max(examined.diagnosis.workloads, key=lambda one: one.total_ns)
    trials = _Trials(examined, before, _number(examined.recording, main), deadline, say)
    for finding in candidates(main.findings)[:MOST_TRIALS]:
        append(recording, trials.record(finding))


def candidates(findings: Sequence[Finding]) -> list[Finding]:
    """Findings whose edit is worth a run: those first whose gain is only a model's."""
    worth = [one for one in findings if _can_be_tried(one.as_edited)]
    return sorted(worth, key=lambda one: one.as_edited.how == "tried")


def _can_be_tried(finding: Finding) -> bool:
    cure, gain = finding.cure, finding.gain
    has_edit = bool(cure.edits) and cure.packing is None
    return has_edit and finding.scope == "step" and gain.value >= WORTH_TRIAL


@dataclass
class _Trials:
    examined: Examined
    before: _Run
    workload: int
    deadline: int
    say: Say

    def record(self, finding: Finding) -> Raw:
        """One cured run, and one of the script as it is where time is left for it."""
        name = recorded_name(CureTrial, finding.rule)
        try:
            found = self._tried(finding)
        except _OutOfTime as reason:
            return self._record(ProbeRun(name, "not available", str(reason)))
        except (CannotCompare, FitdoctorError) as reason:
            return self._record(ProbeRun(name, "failed", str(reason)))
        return self._record(ProbeRun(name, "ok"), data=to_record(found))

    def _record(self, probe: ProbeRun, **data: object) -> Raw:
        return record_of("probe", probe, w=self.workload, **data)

    def _tried(self, finding: Finding) -> CureTrial:
        edited = finding.as_edited
        patch = patch_of(self.examined, [finding], unsafe=True, in_process=True)
        if not patch:
            declined = (one.reason for one in patch.declined)
            raise CannotCompare(next(declined, "the edit could not be made"))
        side = cured_side(self.examined.target, patch)
        window_s = self._window_s(side, edited)
        needed_s = self._start_s + window_s + SLACK_S
        if not self._has(needed_s):
            raise _OutOfTime(f"a run of its cure takes about {needed_s:.0f} s (fitdoctor prove)")
        self.say(f"trying the cure of {finding.rule} in a fresh process (about {needed_s:.0f} s)")
        with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
            after = self._fresh(side, Path(folder), window_s)
            found = _trial(edited, self.before, after, side, pairs=0)
            expected = edited.gain.contains(found.before_ns / found.after_ns)
            if expected or not self._has(needed_s):
                return found
            # More or less than was expected: the machine may have changed its pace.
            plain = plain_side(self.examined.target)
            return _trial(edited, self._fresh(plain, Path(folder), window_s), after, side, pairs=1)

    def _has(self, seconds: float) -> bool:
        return time.perf_counter_ns() + seconds * NS_PER_S <= self.deadline

    def _fresh(self, side: Side, folder: Path, window_s: float) -> _Run:
        options = RunOptions(probes=False, limit=StepLimit(None, window_s))
        run = run_side(side, folder, options=options, limit_s=2 * window_s)
        if run.failed:
            raise CannotCompare(f"the changed script failed: {run.how}")
        found = _run_of(run.recording, self.before.timeline.epoch_steps)
        if found is None:
            raise CannotCompare("the changed script did not train")
        if found.timeline.disturbed_share > DISTURBED_SHARE:
            raise CannotCompare("other processes disturbed the run")
        if side.steps_in_one == 1:
            return found
        return _Run(found.timeline.counted(side.steps_in_one), found.start_ns)

    @property
    def _start_s(self) -> float:
        return (self.before.start_ns or 0.0) / NS_PER_S

    def _window_s(self, side: Side, edited: Finding) -> float:
        """Long enough for what the cured training does only now and then."""
        timeline = self.before.timeline
        step_s = timeline.taken_ns / timeline.steps / NS_PER_S
        epoch = timeline.epoch_steps or side.rounds.epoch_steps or 0
        settling_s = side.rounds.settles * epoch * step_s
        round_s = side.rounds.in_steps(epoch) * step_s / edited.gain.value
        return settling_s + max(WINDOW_S, BEYOND_ROUND * round_s)


def _trial(edited: Finding, before: _Run, after: _Run, side: Side, *, pairs: int) -> CureTrial:
    one, other = stretches([(before.timeline, after.timeline)], rounds=side.rounds)
    epoch = before.timeline.epoch_steps or side.rounds.epoch_steps
    if min(one.steps, other.steps) < LEAST_STEPS:
        raise CannotCompare(f"only {other.steps} steps after warm-up could be compared")
    if other.steps < side.rounds.in_steps(epoch):
        raise CannotCompare("what the changed training does now and then was not seen")
    return CureTrial(
        edits=edited.cure.fingerprint,
        before_ns=one.step_ns(before.timeline),
        after_ns=other.step_ns(after.timeline),
        steps=other.steps,
        pairs=pairs,
        start_before_ns=before.start_ns,
        start_after_ns=after.start_ns,
    )


def _run_of(recording: Recording, epoch_steps: int | None = None) -> _Run | None:
    timeline = timeline_of(recording, epoch_steps)
    if timeline is None:
        return None
    begin = process_start_ns(recording)
    start = None if begin is None else timeline.time_at(1) - begin
    return _Run(timeline, start)


def _first_step_ns(recording: Recording) -> int | None:
    blocks = [block for one in recording.workloads for block in one.blocks]
    return min((block.t[0] for block in blocks if block.t), default=None)


def _has_one_workload(examined: Examined) -> bool:
    times = [one.total_ns for one in examined.diagnosis.workloads]
    return max(times) >= NEARLY_ALL * sum(times)


def _number(recording: Recording, judged: DiagnosedWorkload) -> int:
    """Of the recorded workload that a diagnosis is of."""
    same = (w for w in recording.workloads if (w.kind, place_of(w)) == (judged.kind, judged.where))
    return next(same).number
