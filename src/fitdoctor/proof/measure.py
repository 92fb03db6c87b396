"""Runs both sides in turn until the interval of their ratio is tight or the budget is spent."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.findings.rounds import NO_ROUNDS, Rounds
from fitdoctor.intervals import Interval
from fitdoctor.proof.compared import Stretch, stretches
from fitdoctor.proof.measured import (
    LEAST_STEPS,
    CannotCompare,
    Limits,
    Measured,
    Observed,
    Progress,
)
from fitdoctor.proof.ratio import LEAST_PAIRS, is_tight, ratio_of

# Pairs that are given up to other processes before the machine is called too busy.
MOST_DISTURBED = 4
# Epochs to see, where they are short: what helps from the second epoch on (a cache) must show.
EPOCHS_TO_SEE = 3
# And for this many times the window at most.
LONGER_WINDOW = 2.0
# A run may take this many times the first one before it is ended: the other side may be slower.
PATIENCE = 6.0
# Of the steps of two runs with batches of different size.
PARTIAL_BATCHES = 0.1
# The faster side is watched for this part of the window at least,
WATCHED_PART = 0.5
# with at most this many times the steps of the other.
MOST_MORE = 500
# Where it does something only now and then, it is watched for a whole round of it, and for this
# part of a round more: the warm-up.
BEYOND_ROUND = 0.2
# And for this part of the epochs in which it settles more.
BEYOND_SETTLED = 1.0

# Runs a side ("A" or "B") for so many steps, or until its own end, at most for so many seconds.
RunSide = Callable[[str, int | None, float], Observed]
Pair = tuple[Observed, Observed]


def measure(
    run: RunSide,
    limits: Limits,
    tell: Callable[[Progress], None] = lambda progress: None,
    clock: Callable[[], float] = time.monotonic,
    rounds: Rounds = NO_ROUNDS,
) -> Measured:
    """A B, B A, A B, … in fresh processes."""
    return _Measurement(run, limits, tell, clock, rounds).result()


@dataclass
class _Measurement:
    run: RunSide
    limits: Limits
    tell: Callable[[Progress], None]
    clock: Callable[[], float]
    rounds: Rounds
    runs: int = 0
    pairs: list[Pair] = field(default_factory=list)
    disturbed: int = 0
    steps_of_b: int | None = None  # more than of the first side, where it is faster

    def __post_init__(self) -> None:
        self.deadline = self.clock() + self.limits.budget_s
        self.steps = self.limits.steps
        self.seconds = self.limits.window_s if self.steps is None else self.limits.budget_s

    def result(self) -> Measured:
        try:
            self._measure()
        except CannotCompare as reason:
            return replace(self._outcome(str(reason)), incomparable=True)
        if len(self.pairs) >= LEAST_PAIRS:
            return self._outcome("")
        if self.disturbed:
            return self._outcome(
                f"other processes disturbed {self.disturbed} of "
                f"{self.disturbed + len(self.pairs)} pairs of runs, and at least {LEAST_PAIRS} "
                "undisturbed ones are needed; run it again on a quiet machine"
            )
        return self._outcome(
            f"the budget allowed {len(self.pairs)} pairs of runs; at least {LEAST_PAIRS} are "
            "needed (--budget, --max-runs, or fewer --steps)"
        )

    def _measure(self) -> None:
        first = self._pilot()
        pair_s = 0.0
        while self._needs_more(pair_s):
            begin = self.clock()
            number = len(self.pairs) + self.disturbed
            if number == 0:
                pair = first, self._pilot_of_b(first)
            elif number % 2:
                after = self._one("B")
                pair = self._one("A"), after
            else:
                pair = self._one("A"), self._one("B")
            self._add(pair)
            pair_s = max(self.clock() - begin, pair_s)

    def _needs_more(self, pair_s: float) -> bool:
        if self.runs + 2 > self.limits.max_runs and self.pairs:
            return False
        if self.disturbed > MOST_DISTURBED:
            return False
        # The pairs that are needed at all are run even if the last one may exceed the budget.
        if self.clock() + pair_s > self.deadline and len(self.pairs) >= LEAST_PAIRS:
            return False
        if self.clock() > self.deadline + self.limits.budget_s:
            return False
        return not is_tight(self._ratio(), self.limits.precision)

    def _pilot(self) -> Observed:
        """The first run of A also says how many steps there are to compare."""
        first = self._one("A")
        timeline = first.timeline
        wanted = EPOCHS_TO_SEE * (timeline.epoch_steps or 0)
        longest = LONGER_WINDOW * self.seconds
        short = self.limits.steps is None and first.ended_by_us and wanted > timeline.steps
        if short and timeline.taken_ns / NS_PER_S * wanted / timeline.steps <= longest:
            first = self._one("A", wanted, 2 * longest)
        # Where A comes to its own end, both are to.
        self.steps = (self.limits.steps or first.timeline.steps) if first.ended_by_us else None
        self.seconds = max(self.seconds, PATIENCE * self.limits.window_s)
        return first

    def _pilot_of_b(self, before: Observed) -> Observed:
        """The first run of B; a longer one where it was over in a moment, or within a round."""
        first = self._one("B")
        timeline, steps = first.timeline, self.steps
        if steps is None or self.limits.steps or not first.ended_by_us:
            return first
        # A compilation of a later shape (the last batch of an epoch) is no training.
        taken = (timeline.taken_ns - timeline.compiling_ns(0, timeline.steps)) / NS_PER_S
        more = 1.0
        if taken < WATCHED_PART * self.limits.window_s:
            more = min(MOST_MORE, self.limits.window_s / max(taken, 1e-3))
        epoch = before.timeline.epoch_steps or self.rounds.epoch_steps
        around = self.rounds.in_steps(epoch) * (1 + BEYOND_ROUND)
        around += self.rounds.settles * (epoch or 0) * (1 + BEYOND_SETTLED)
        if around / steps * taken <= self.seconds:
            more = max(more, around / steps)
        if more <= 1:
            return first
        self.steps_of_b = round(steps * more)
        self.runs -= 1  # it only showed how many steps to do
        return self._one("B")

    def _one(self, side: str, steps: int | None = None, seconds: float | None = None) -> Observed:
        usual = self.steps_of_b if side == "B" and self.steps_of_b else self.steps
        self.runs += 1
        observed = self.run(side, steps or usual, self.seconds if seconds is None else seconds)
        line, ratio, disturbed = observed.timeline, self._ratio(), observed.is_disturbed
        self.tell(Progress(self.runs, ratio, disturbed, side, line.steps, line.taken_ns))
        return observed

    def _add(self, pair: Pair) -> None:
        _check_steps(*pair)
        if any(one.is_disturbed for one in pair):
            self.disturbed += 1
        else:
            self.pairs.append(pair)
            before, after = self._step_times()
            self.tell(Progress(self.runs, self._ratio(), pair=(before[-1], after[-1])))

    # -- what the runs say ---------------------------------------------------------

    def _ratio(self) -> Interval | None:
        return ratio_of(*self._step_times()) if len(self.pairs) >= LEAST_PAIRS else None

    def _stretches(self) -> tuple[Stretch, Stretch]:
        timelines = [(before.timeline, after.timeline) for before, after in self.pairs]
        return stretches(timelines, self.limits.steps, self.rounds)

    def _step_times(self) -> tuple[list[float], list[float]]:
        one, other = self._stretches()
        before = [one.step_ns(observed.timeline) for observed, _ in self.pairs]
        return before, [other.step_ns(observed.timeline) for _, observed in self.pairs]

    def _outcome(self, invalid: str) -> Measured:
        if not self.pairs:
            return Measured(self.runs, disturbed_pairs=self.disturbed, invalid=invalid)
        one, other = self._stretches()
        if not invalid and one.steps < LEAST_STEPS:
            invalid = (
                f"only {one.steps} steps after warm-up could be compared; at least "
                f"{LEAST_STEPS} are needed"
            )
        before, after = self._step_times()
        cut = one.last
        whole = [[run.timeline.time_at(cut) - run.launched_ns for run in p] for p in self.pairs]
        first, second = (observed.timeline for observed in self.pairs[0])
        around = self.rounds.in_steps(first.epoch_steps or self.rounds.epoch_steps)
        epoch = first.epoch_steps or second.epoch_steps
        return Measured(
            runs=self.runs,
            pairs=len(self.pairs),
            disturbed_pairs=self.disturbed,
            steps=cut,
            warm_up=one.first,
            ratio=None if invalid else ratio_of(before, after),
            whole=None if invalid else ratio_of([a for a, _ in whole], [b for _, b in whole]),
            before_ns=statistics.geometric_mean(before),
            after_ns=statistics.geometric_mean(after),
            ratios=tuple(a / b for a, b in zip(before, after, strict=True)),
            invalid=invalid,
            epoch_steps=epoch if epoch is not None and epoch < cut else None,
            executions=max(run.timeline.executions for pair in self.pairs for run in pair),
            complete=not self.pairs[0][0].ended_by_us,
            further_steps=other.last - one.last,
            unseen_round=around if other.steps < around else None,
        )


def _check_steps(before: Observed, after: Observed) -> None:
    """Two runs to their own end must have done the same number of steps."""
    a, b = before.timeline.steps, after.timeline.steps
    ended = [one.timeline.steps for one in (before, after) if not one.ended_by_us]
    if not ended:
        return
    # A side that we ended may have stopped anywhere short of the other's end, not beyond it.
    # The last batch of an epoch is rarely full: a larger one counts for more than it holds.
    slack = max(before.timeline.steps_in_one, after.timeline.steps_in_one) > 1
    allowed = PARTIAL_BATCHES * max(a, b) if slack else 0.0
    same = abs(a - b) <= allowed if len(ended) == 2 else max(a, b) <= ended[0] + allowed
    if not same:
        raise CannotCompare(f"a different number of steps: A did {a}, B did {b}")
