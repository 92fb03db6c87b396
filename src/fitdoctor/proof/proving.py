"""The proof of one pair: time both in turn, then compare what they learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fitdoctor.contract.options import LearningOptions, RunOptions, StepLimit
from fitdoctor.intervals import Interval
from fitdoctor.proof.equivalence import (
    CureClass,
    Equivalence,
    compare,
    not_checked,
    with_repetition,
)
from fitdoctor.proof.learned import Learned, read_learned
from fitdoctor.proof.measure import measure
from fitdoctor.proof.measured import CannotCompare, Limits, Measured, Observed, Progress
from fitdoctor.proof.process import Run, run_side
from fitdoctor.proof.proof_verdict import Proof, judge
from fitdoctor.proof.side import Side
from fitdoctor.proof.timeline import timeline_of

# Steps whose data and learning are compared; more where that lets a whole epoch be seen.
CHECKED_STEPS = 100
CHECKED_EPOCH_STEPS = 400
# Hashing every batch and reading every loss makes steps longer.
CHECK_PATIENCE_S = 180.0
SEED = 20261115
Tell = Callable[[Progress | str], None]


@dataclass
class Prover:
    """Proves pairs of one script; keeps what all of them share."""

    folder: Path  # for recordings
    limits: Limits
    tell: Tell = lambda progress: None
    epoch_steps: int | None = None  # as the first run that showed it

    def prove(
        self,
        before: Side,
        after: Side,
        *,
        cure: CureClass = "given",
        may_differ: bool = False,
        predicted: Interval | None = None,
        cures: tuple[str, ...] = (),
        check: bool = True,
    ) -> Proof:
        """Time both, compare both, judge.

        Args:
            before: the slow side.
            after: the cured side.
            cure: what kind of change it is, which sets the tolerance.
            may_differ: whether other learning was asked for.
            predicted: the gain that was predicted.
            cures: what was changed, for the report.
            check: whether to compare data and learning.
        """
        measured = self.measured(before, after)
        if measured.invalid:
            equivalence = not_checked("not compared, since the runs could not be timed")
        elif check:
            equivalence = self.equivalence(before, after, measured, cure)
        else:
            equivalence = not_checked("not asked for (--no-check)")
        verdict, reason = judge(measured, equivalence, may_differ=may_differ)
        return Proof(verdict, reason, measured, equivalence, predicted, cures)

    # -- time ----------------------------------------------------------------------

    def measured(self, before: Side, after: Side) -> Measured:
        """The two sides timed in turn."""
        sides = {"A": before, "B": after}

        def run(side: str, steps: int | None, seconds: float) -> Observed:
            return self._timed(sides[side], side, steps, seconds)

        return measure(run, self.limits, self.tell, rounds=after.rounds)

    def _timed(self, side: Side, label: str, steps: int | None, seconds: float) -> Observed:
        own = None if steps is None else max(1, steps // side.steps_in_one)
        options = RunOptions(probes=False, limit=StepLimit(own, seconds))
        run = run_side(side, self.folder, options=options, limit_s=2 * seconds)
        if run.failed:
            raise CannotCompare(_failure(run, label, side))
        timeline = timeline_of(run.recording, self.epoch_steps)
        run.path.unlink()  # a run of many steps is megabytes
        if timeline is None:
            raise CannotCompare(f"{side.name} did not train with Keras")
        if side.steps_in_one > 1:
            timeline = timeline.counted(side.steps_in_one)
        if self.epoch_steps is None:
            self.epoch_steps = timeline.epoch_steps
        return Observed(timeline, run.launched_ns, run.ended_by_us)

    # -- equivalence ---------------------------------------------------------------

    def equivalence(
        self, before: Side, after: Side, measured: Measured, cure: CureClass
    ) -> Equivalence:
        """Both once, untimed; the first again if they differ, to see whether it repeats itself."""
        steps = steps_to_check(measured)
        self.tell(f"comparing data and learning over {steps} steps (untimed runs)")
        try:
            first = self._learned(before, steps)
            found = compare(first, self._learned(after, steps), cure)
            if not found.is_different:
                return found
            self.tell("they differ; running the first again to see whether it repeats itself")
            return with_repetition(found, first, self._learned(before, steps), cure)
        except CannotCompare as reason:
            return not_checked(str(reason))

    def _learned(self, side: Side, steps: int) -> Learned:
        weights = self.folder / "weights.npz"
        weights.unlink(missing_ok=True)
        learning = LearningOptions(steps, CHECK_PATIENCE_S, str(weights), SEED)
        options = RunOptions(probes=False, learning=learning)
        run = run_side(side, self.folder, options=options, limit_s=2 * CHECK_PATIENCE_S)
        if run.failed:
            raise CannotCompare(_failure(run, side.name, side))
        return read_learned(run.path, weights, run.recording)


def steps_to_check(measured: Measured) -> int:
    """Steps at which both sides can be stopped, whole epochs where they are not too long."""
    epoch = measured.epoch_steps
    if epoch is not None and epoch <= CHECKED_EPOCH_STEPS:
        # An epoch of one step would show nothing.
        return epoch * max(1, min(measured.steps, CHECKED_STEPS) // epoch)
    steps = min(measured.steps, CHECKED_STEPS)
    if measured.complete and measured.steps <= CHECKED_EPOCH_STEPS:
        steps = measured.steps
    if measured.executions > 1:
        steps = max(1, steps // measured.executions) * measured.executions
    return steps


def _failure(run: Run, label: str, side: Side) -> str:
    name = f"{label} ({side.target})" if label != side.name else side.target
    if run.timed_out:
        return f"{name} did not come to its compared steps in time and was ended"
    how = f"exit code {run.exit_code}" if run.exit_code is not None else "killed by a signal"
    return f"{name} failed with {how}: {run.error or 'no message'}"
