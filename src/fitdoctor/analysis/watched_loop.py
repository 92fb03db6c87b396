"""The time of a hand-written loop that was watched: loading, step, reads and the code around."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fitdoctor.contract.evidence.loop import LoopLines, LoopShare
from fitdoctor.contract.evidence.timing import NativePart
from fitdoctor.contract.places import Seen
from fitdoctor.contract.records import RecordedWorkload

# Fewer samples, or iterations, say too little.
MIN_SAMPLES = 50
MIN_ITERATIONS = 4
# Being watched slows the parts of a loop by about this much unevenly.
LEAST_ERROR = 0.1


@dataclass(frozen=True)
class WatchedLoop:
    """Shares of the loop's time, and what was seen in each."""

    loading: float
    step: float
    own: float
    reads: float  # of values by Python, which waits for the device
    samples: int
    parts: dict[str, LoopShare]
    native: NativePart | None
    iterations: int

    @property
    def in_framework(self) -> float:
        """The share of the step with the reads that wait for it."""
        return self.step + self.reads

    def error_of(self, share: float) -> float:
        """Relative error of a share: of so many samples, and of the watching itself."""
        if share <= 0:
            return 1.0
        return max(LEAST_ERROR, min(1.0, 2 * math.sqrt((1 - share) / share / self.samples)))

    def cores(self, name: str, *, own_thread: bool) -> float:
        """CPU use in one of the parts."""
        part = self.parts[name]
        cpu = part.cpu_ns if own_thread else part.process_cpu_ns
        return float(cpu) / max(1.0, float(part.ns))

    def hot_line(self, name: str) -> tuple[str, int, str] | None:
        """The user's line that was seen most often."""
        lines = self.parts[name].lines
        return lines[0][:3] if lines else None

    def lines(self, name: str) -> tuple[tuple[Seen, float], ...]:
        """The user's lines in a part, each with its share of the loop's time."""
        part = self.parts[name]
        share = getattr(self, name) / max(1, part.samples)
        return tuple((line, line[3] * share) for line in part.lines)


def loop_lines(workload: RecordedWorkload) -> WatchedLoop | None:
    """What was seen of a loop; None where it was not watched for long enough."""
    found = workload.found(LoopLines)
    if found is None:
        return None
    parts = {
        "loading": found.loading,
        "step": found.step,
        "own": found.own,
        "reads": found.reads,
    }
    total = sum(part.ns for part in parts.values())
    samples = sum(part.samples for part in parts.values())
    if samples < MIN_SAMPLES or found.iterations < MIN_ITERATIONS or not total:
        return None
    shares = {name: part.ns / total for name, part in parts.items()}
    return WatchedLoop(
        **shares, samples=samples, parts=parts, native=found.native, iterations=found.iterations
    )
