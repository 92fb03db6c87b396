"""Which steps of both sides are compared, and what one of them takes.

Both sides are compared over the same steps. A side that does them in some milliseconds is watched
for longer, since so short a moment shows more of cold caches than about training; its further
steps count where they are like the first ones. What the second side does only now and then (a
validation every 5 epochs) must lie within its steps as often as it lies within its training.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from fitdoctor.analysis.steady import warm_up_length
from fitdoctor.findings.rounds import NO_ROUNDS, Rounds
from fitdoctor.proof.timeline import Timeline

Timelines = Sequence[tuple[Timeline, Timeline]]

_WINDOWS = 200  # means that warm-up is looked for in
# Further steps that take this many times as long, or as short, are other steps.
ALIKE = 2.0
# Fewer further steps than this would show nothing more.
WORTH_MORE = 1.5


@dataclass(frozen=True)
class Stretch:
    """The steps of one side that count: after its warm-up, up to the last."""

    first: int
    last: int

    @property
    def steps(self) -> int:
        """How many they are."""
        return self.last - self.first

    def step_ns(self, timeline: Timeline) -> float:
        """Time per step in one run."""
        taken = timeline.time_at(self.last) - timeline.time_at(self.first)
        return max(1.0, taken / max(1, self.steps))

    def compiled_step_ns(self, timeline: Timeline) -> float:
        """The same without what was traced or compiled in between."""
        compiling = timeline.compiling_ns(self.first, self.last)
        return max(1.0, self.step_ns(timeline) - compiling / max(1, self.steps))


def stretches(
    pairs: Timelines, limit: int | None = None, rounds: Rounds = NO_ROUNDS
) -> tuple[Stretch, Stretch]:
    """The compared steps of the first and of the second side, the same for every run.

    Args:
        pairs: the runs.
        limit: steps to compare at most.
        rounds: what the second side does only now and then.
    """
    common = min(timeline.steps for pair in pairs for timeline in pair)
    if limit is not None:
        common = min(common, limit)
    warm_ups = [_usual_warm_up([pair[side] for pair in pairs], common) for side in (0, 1)]
    same = Stretch(min(max(warm_ups), common // 2), common)
    if limit is not None:
        return same, same
    runs = [after for _, after in pairs]
    epoch = pairs[0][0].epoch_steps or rounds.epoch_steps
    settled = rounds.settles * (epoch or 0)
    whole = _whole(runs, rounds.in_steps(epoch), settled)
    if whole is not None:
        first = min(warm_ups[0], common // 2)
        # An epoch's end is part of the first side's training as often as there are epochs.
        epochs = (common - first) // epoch if rounds.epochs and epoch else 0
        return Stretch(common - epochs * epoch if epochs and epoch else first, common), whole
    longer = _longer(runs, same)
    if longer is None:
        return same, same
    return Stretch(min(warm_ups[0], common // 2), common), longer


def _whole(runs: Sequence[Timeline], steps: int, settled: int) -> Stretch | None:
    """Whole rounds of so many steps, after the warm-up; None where there was not one."""
    last = min(timeline.steps for timeline in runs)
    if (steps < 2 and not settled) or last <= settled + steps:
        return None
    first = max(settled, min(_usual_warm_up(runs, max(steps, settled)), last - steps))
    return Stretch(last - (last - first) // steps * steps, last)


def _longer(runs: Sequence[Timeline], same: Stretch) -> Stretch | None:
    """More steps of the second side, where they are alike."""
    last = min(timeline.steps for timeline in runs)
    epoch = runs[0].epoch_steps
    if epoch is not None and same.last < epoch:
        last = min(last, epoch)  # what lies between epochs was not seen of the first side
    if last < WORTH_MORE * same.last:
        return None
    found = Stretch(min(_usual_warm_up(runs, last), last // 2), last)
    few = statistics.median(same.compiled_step_ns(timeline) for timeline in runs)
    many = statistics.median(found.compiled_step_ns(timeline) for timeline in runs)
    return found if many / ALIKE <= few <= many * ALIKE else None


def _usual_warm_up(runs: Sequence[Timeline], last: int) -> int:
    return int(statistics.median(warm_up(timeline, last) for timeline in runs))


@functools.lru_cache(maxsize=64)
def warm_up(timeline: Timeline, last: int) -> int:
    """Steps until the run is steady, looked for in a limited number of means."""
    width = max(1, last // _WINDOWS)
    marks = range(0, last - width + 1, width)
    means = [(timeline.time_at(m + width) - timeline.time_at(m)) / width for m in marks]
    return warm_up_length(means) * width
