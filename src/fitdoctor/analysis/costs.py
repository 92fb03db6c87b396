"""What one step costs, part by part; the parts sum to the whole, the rest is `unknown`."""

from __future__ import annotations

from dataclasses import dataclass, field

from fitdoctor.intervals import Interval

# Keras adds these to every fit by itself.
BUILT_IN_CALLBACKS = frozenset({"History", "ProgbarLogger"})
CHECKPOINT_CALLBACKS = frozenset({"ModelCheckpoint", "BackupAndRestore", "OrbaxCheckpoint"})


@dataclass(frozen=True)
class Costs:
    """Nanoseconds per step in the steady state."""

    steps: int  # all steps seen
    steady_steps: int  # steps that the numbers rest on
    calls: int
    core: Interval  # one step to the next inside an epoch, without recurring compiles
    total: Interval  # with everything that recurs, spread over the steps
    parts: dict[str, float]  # sums to total.value
    median_ns: float
    p10_ns: float
    p90_ns: float
    one_off_ns: float  # start-up and first compile, paid once
    disturbed_share: float  # of the steps, measured while other processes took CPU time
    unit: str = "step"  # or "call"
    # Parts of the core that are not the step: batch callbacks, saves, compiles in every step.
    beside: dict[str, float] = field(default_factory=dict)
    # Waiting for the first batch of later epochs, where that is outside the core.
    first_waits: float = 0.0

    @property
    def between_epochs(self) -> float:
        """From the last step of an epoch to the first of the next, without what has a name."""
        return self.parts.get("epoch_gap", 0.0) + self.first_waits


def parts_that_sum(total: float, parts: dict[str, float]) -> dict[str, float]:
    """Add `unknown` so that the parts sum; shrink them if together they exceed the total.

    Parts are measured one by one and may overlap a little: then nothing is unknown, and
    each gives way in proportion.
    """
    known = {name: max(0.0, value) for name, value in parts.items()}
    measured = sum(known.values())
    if measured > total > 0:
        known = {name: value * total / measured for name, value in known.items()}
        measured = total
    known["unknown"] = max(0.0, total - measured)
    return known
