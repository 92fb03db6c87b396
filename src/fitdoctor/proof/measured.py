"""What is known of timed runs: one of them, the limits of all, and what they show together."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.records import Recording
from fitdoctor.intervals import Interval
from fitdoctor.proof.compared import Stretch, warm_up
from fitdoctor.proof.timeline import Timeline, timeline_of

# Steps after warm-up from which a time per step can be estimated.
LEAST_STEPS = 5


# A run with more of its steps disturbed than this is repeated, with its partner.
DISTURBED_SHARE = 0.25


class CannotCompare(Exception):
    """A run gave nothing, or what cannot be compared; the message says why."""


@dataclass(frozen=True)
class Observed:
    """One run, for the measurement."""

    timeline: Timeline
    launched_ns: int
    ended_by_us: bool

    @property
    def is_disturbed(self) -> bool:
        """Whether other processes used our cores during too many of its steps."""
        return self.timeline.disturbed_share > DISTURBED_SHARE


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    precision: float = 0.05
    budget_s: float = 180.0
    max_runs: int = 20
    steps: int | None = None
    window_s: float = 10.0


@dataclass(frozen=True)
class Progress:
    """Where the measurement stands."""

    runs: int
    ratio: Interval | None  # of all pairs so far, where they are enough
    disturbed: bool = False  # by other processes: what was just run is repeated
    # Of a run that has just ended: which side, its steps, and how long they took in all.
    side: str = ""
    steps: int = 0
    taken_ns: float = 0.0
    # Of a pair that is complete: time per step of both, over the compared steps alone.
    pair: tuple[float, float] | None = None


@dataclass(frozen=True)
class Measured:
    """The outcome: a ratio with its interval, or the reason why there is none."""

    runs: int = 0
    pairs: int = 0
    disturbed_pairs: int = 0
    steps: int = 0
    warm_up: int = 0
    ratio: Interval | None = None
    whole: Interval | None = None  # start-up included, over the same steps
    # Time per compared step, steady state: the geometric mean of the runs, whose ratio is `ratio`.
    before_ns: float | None = None
    after_ns: float | None = None
    ratios: tuple[float, ...] = ()  # of each pair, in turn
    invalid: str = ""
    incomparable: bool = False  # invalid because of the scripts, not for want of quiet runs
    epoch_steps: int | None = None  # where the first epoch lies within the compared steps
    executions: int = 1  # the larger number of steps per execution of the two
    complete: bool = False  # the script's own end, not a limit of ours
    further_steps: int = 0  # of the faster side, beyond the steps that both did
    unseen_round: int | None = None  # steps of a round of the second side that were too many


def steady_step_ns(recording: Recording) -> float | None:
    """Time per step of one run after its warm-up; None from too few steps."""
    timeline = timeline_of(recording)
    if timeline is None:
        return None
    steady = Stretch(min(warm_up(timeline, timeline.steps), timeline.steps // 2), timeline.steps)
    return steady.step_ns(timeline) if steady.steps >= LEAST_STEPS else None
