"""Runs both sides in turn until the interval of their ratio is tight or the budget is spent."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.findings.rounds import NO_ROUNDS, Rounds
from fitdoctor.intervals import Interval
from fitdoctor.proof.compared import stretches
from fitdoctor.proof.measured import LEAST_STEPS, Limits, Measured, Observed, Progress
from fitdoctor.proof.ratio import LEAST_PAIRS, is_tight, ratio_of
from fitdoctor.proof.timeline import Timeline

# A run with more of its steps disturbed than this is repeated, with its partner.
DISTURBED_SHARE = 0.25
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


class _Invalid(Exception):
    """The two sides cannot be compared; the message says why."""


class _Measurement:
    def __init__(
        self,
        run: RunSide,
        limits: Limits,
        tell: Callable[[Progress], None],
        clock: Callable[[], float],
        rounds: Rounds,
    ) -> None:
        self._run = run
        self._limits = limits
        self._tell = tell
        self._clock = clock
        self._rounds = rounds
        self._deadline = clock() + limits.budget_s
        self._runs = 0
        self._pairs: list[Pair] = []
        self._disturbed = 0
        self._steps = limits.steps
        self._seconds = limits.window_s if limits.steps is None else limits.budget_s
        self._steps_of_b: int | None = None  # more than of the first side, where it is faster

    def result(self) -> Measured:
        try:
            self._measure()
        except _Invalid as reason:
            return replace(self._outcome(str(reason)), incomparable=True)
        if len(self._pairs) >= LEAST_PAIRS:
            return self._outcome("")
        if self._disturbed:
            return self._outcome(
                f"other processes used this machine's cores during {self._disturbed} pairs of "
                "runs; compare again when it is quiet"
            )
        return self._outcome(
            f"the budget allowed {len(self._pairs)} pairs of runs; at least {LEAST_PAIRS} are "
            "needed (--budget, --max-runs, or fewer --steps)"
        )

    def _measure(self) -> None:
        first = self._pilot()
        pair_s = 0.0
        while self._needs_more(pair_s):
            begin = self._clock()
            number = len(self._pairs) + self._disturbed
            if number == 0:
                pair = first, self._pilot_of_b(first)
            elif number % 2:
                after = self._one("B")
                pair = self._one("A"), after
            else:
                before = self._one("A")
                pair = before, self._one("B")
            self._add(pair)
            pair_s = max(self._clock() - begin, pair_s)

    def _needs_more(self, pair_s: float) -> bool:
        if self._runs + 2 > self._limits.max_runs and self._pairs:
            return False
        if self._disturbed > MOST_DISTURBED:
            return False
        # The pairs that are needed at all are run even if the last one may exceed the budget.
        if self._clock() + pair_s > self._deadline and len(self._pairs) >= LEAST_PAIRS:
            return False
        if self._clock() > self._deadline + self._limits.budget_s:
            return False
        return not is_tight(self._ratio(), self._limits.precision)

    def _pilot(self) -> Observed:
        """The first run of A also says how many steps there are to compare."""
        seconds = self._seconds * (1.0 if self._limits.steps else LONGER_WINDOW)
        first = self._one("A", self._steps, self._seconds)
        timeline = first.timeline
        if timeline is None:
            raise _Invalid("A did not train")
        wanted = EPOCHS_TO_SEE * (timeline.epoch_steps or 0)
        if self._limits.steps is None and first.ended_by_us and wanted > timeline.steps:
            taken = (timeline.time_at(timeline.steps) - timeline.time_at(0)) / NS_PER_S
            if taken * wanted / timeline.steps <= seconds:
                first = self._one("A", wanted, seconds * 2)
        if first.timeline is None:
            raise _Invalid("A did not train")
        if first.ended_by_us:
            self._steps = self._limits.steps or first.timeline.steps
        else:
            self._steps = None  # both are to come to their own end
        self._seconds = max(self._seconds, PATIENCE * self._limits.window_s)
        return first

    def _pilot_of_b(self, before: Observed) -> Observed:
        """The first run of B; a longer one where it was over in a moment, or within a round."""
        first = self._one("B")
        timeline, steps = first.timeline, self._steps
        if timeline is None or steps is None or self._limits.steps or not first.ended_by_us:
            return first
        taken = timeline.time_at(timeline.steps) - timeline.time_at(0)
        # A compilation of a later shape (the last batch of an epoch) is no training.
        taken = (taken - timeline.compiling_ns(0, timeline.steps)) / NS_PER_S
        more = 1.0
        if taken < WATCHED_PART * self._limits.window_s:
            more = min(MOST_MORE, self._limits.window_s / max(taken, 1e-3))
        around = self._round_of(before) * (1 + BEYOND_ROUND)
        around += self._settled(before) * (1 + BEYOND_SETTLED)
        if around / steps * taken <= self._seconds:
            more = max(more, around / steps)
        if more <= 1:
            return first
        self._steps_of_b = round(steps * more)
        self._runs -= 1  # it only showed how many steps to do
        return self._one("B")

    def _round_of(self, before: Observed) -> int:
        """Steps of a round of the second side; 1 where all of its steps are of one kind."""
        return self._rounds.in_steps(self._epoch_of(before))

    def _settled(self, before: Observed) -> int:
        """Steps until the second side is what it stays."""
        return self._rounds.settles * (self._epoch_of(before) or 0)

    def _epoch_of(self, before: Observed) -> int | None:
        seen = before.timeline.epoch_steps if before.timeline else None
        return seen or self._rounds.epoch_steps

    def _one(self, side: str, steps: int | None = None, seconds: float | None = None) -> Observed:
        if steps is None:
            steps = self._steps_of_b if side == "B" and self._steps_of_b else self._steps
        observed = self._run(
            side,
            steps,
            self._seconds if seconds is None else seconds,
        )
        self._runs += 1
        if observed.failure:
            raise _Invalid(observed.failure)
        if observed.timeline is None:
            raise _Invalid(f"{side} did not train: no step was seen")
        step_ns = _mean_step(observed.timeline)
        disturbed = observed.timeline.disturbed_share > DISTURBED_SHARE
        self._tell(Progress(self._runs, side, step_ns, self._ratio(), disturbed))
        return observed

    def _add(self, pair: Pair) -> None:
        _check_steps(*pair)
        if any(one.timeline.disturbed_share > DISTURBED_SHARE for one in pair if one.timeline):
            self._disturbed += 1
        else:
            self._pairs.append(pair)
            side = "pair"
            self._tell(Progress(self._runs, side, None, self._ratio(), False))

    # -- what the runs say ---------------------------------------------------------

    def _ratio(self) -> Interval | None:
        if len(self._pairs) < LEAST_PAIRS:
            return None
        return ratio_of(*self._step_times())

    def _step_times(self) -> tuple[list[float], list[float]]:
        pairs = _timelines(self._pairs)
        before, after = stretches(pairs, self._limits.steps, self._rounds)
        return [before.step_ns(a) for a, _ in pairs], [after.step_ns(b) for _, b in pairs]

    def _outcome(self, invalid: str) -> Measured:
        if not self._pairs:
            return Measured(self._runs, 0, self._disturbed, 0, 0, None, None, None, None, invalid)
        pairs = _timelines(self._pairs)
        one, other = stretches(pairs, self._limits.steps, self._rounds)
        cut = one.last
        around = self._round_of(self._pairs[0][0])
        if not invalid and one.steps < LEAST_STEPS:
            invalid = (
                f"only {one.steps} steps after warm-up could be compared; at least "
                f"{LEAST_STEPS} are needed"
            )
        before, after = self._step_times()
        epoch = pairs[0][0].epoch_steps or pairs[0][1].epoch_steps
        return Measured(
            runs=self._runs,
            pairs=len(self._pairs),
            disturbed_pairs=self._disturbed,
            steps=cut,
            warm_up=one.first,
            ratio=None if invalid else ratio_of(before, after),
            whole=None if invalid else ratio_of(*_whole_times(self._pairs, cut)),
            before_ns=statistics.median(before),
            after_ns=statistics.median(after),
            invalid=invalid,
            epoch_steps=epoch if epoch is not None and epoch < cut else None,
            executions=max(timeline.executions for pair in pairs for timeline in pair),
            complete=not self._pairs[0][0].ended_by_us,
            further_steps=other.last - one.last,
            unseen_round=around if other.steps < around else None,
        )


def _timelines(pairs: Sequence[Pair]) -> list[tuple[Timeline, Timeline]]:
    return [(a.timeline, b.timeline) for a, b in pairs if a.timeline and b.timeline]


def _check_steps(before: Observed, after: Observed) -> None:
    """Two runs to their own end must have done the same number of steps."""
    if before.timeline is None or after.timeline is None:
        raise _Invalid("one side did not train")
    a, b = before.timeline.steps, after.timeline.steps
    if before.ended_by_us and after.ended_by_us:
        return
    ended = [one.timeline.steps for one in (before, after) if not one.ended_by_us and one.timeline]
    # A side that we ended may have stopped anywhere short of the other's end, not beyond it.
    # The last batch of an epoch is rarely full: a larger one counts for more than it holds.
    slack = max(before.timeline.steps_in_one, after.timeline.steps_in_one) > 1
    allowed = PARTIAL_BATCHES * max(a, b) if slack else 0.0
    same = abs(a - b) <= allowed if len(ended) == 2 else max(a, b) <= ended[0] + allowed
    if not same:
        raise _Invalid(f"a different number of steps: A did {a}, B did {b}")


def _whole_times(pairs: Sequence[Pair], cut: int) -> tuple[list[float], list[float]]:
    """From the start of the process to the end of the compared steps."""
    found: tuple[list[float], list[float]] = ([], [])
    for pair in pairs:
        for side, one in enumerate(pair):
            if one.timeline is not None:
                found[side].append(one.timeline.time_at(cut) - one.launched_ns)
    return found


def _mean_step(timeline: Timeline) -> float:
    steps = timeline.steps
    return (timeline.time_at(steps) - timeline.time_at(0)) / steps
