"""# memory-pressure (EN008)

## What it finds
The machine is short of memory, and training waits for pages from disk. Or the GPU is short of
memory, and torch releases and allocates memory again within steps.

## Why it is slow
When memory is full, the system drops or swaps out pages that are needed again a moment later. Each
such page is a disk read within a step. On a GPU, torch keeps memory for later use. If it finds no
room, it waits for the device, releases everything, and tries again.

## Evidence
On the host:

- training had at least ${FAULTS_PER_S} major page faults (pages read from disk) per second;
- memory use was above ${FULL:percent} of the process's limit;
- steps with faults took at least ${SLOWER:gain} longer than steps without.

On a GPU:

- torch retried an allocation in at least ${RETRIES_PER_STEP:percent} of the steps;
- training in parts of the batch would be at least ${SLOWER:gain} faster, by the measured time of
  such a part.

## Predicted gain
All steps as fast as those without faults. On a GPU: the same number of rows in the smaller steps.

## Example
A cached or loaded data set larger than the memory.

## Use instead
A smaller batch or cache, data read from files batch by batch, float32 instead of float64.

## Fix safety
Advice.

## When not to
Faults at the start only: the first reading of files.
"""

from __future__ import annotations

import statistics

from fitdoctor.analysis.rows import rows_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.step import PartOfBatch
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.model_change import tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration, percent

FAULTS_PER_S = 20.0
FULL = 0.85
# Slow and usual steps must differ this much for the lack of memory to be the cause.
SLOWER = 1.15
RETRIES_PER_STEP = 0.05
# Fewer steps of one kind say nothing about it.
ENOUGH_STEPS = 3
# With more memory, at least this part of the lost time is saved.
LEAST_SAVED = 0.7


class MemoryPressure(Rule):
    summary = "memory is full, and training waits for the disk, or for room on the GPU"
    safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """Too little memory on the host, or on the device."""
        if view.is_group:
            return None
        return self._on_host(view) or self._on_device(view)

    def _on_device(self, view: View) -> Finding | None:
        """Torch looks for room again and again, and smaller steps do the same work sooner."""
        device, part, left = view.found(Device), view.found(PartOfBatch), view.left_by(PartOfBatch)
        if device is None or part is None or left is None or not part.rows:
            return None
        retries, steps = device.memory_retries, device.steps
        if not retries or not steps or retries < RETRIES_PER_STEP * steps:
            return None
        in_parts = tried_change(view, left.scaled(part.of_rows / part.rows), SLOWER)
        if in_parts is None or in_parts.gain.low <= 1.0:
            return None
        return self.finding(
            view,
            f"the GPU has too little memory: torch gave all it kept back {retries} times in "
            f"{steps} steps, and {part.rows} rows instead of {part.of_rows} take "
            f"{percent(left.value)} of the time",
            Cure(self.safety, f"a smaller batch ({part.rows} rows), or half precision"),
            saves=in_parts.saves,
            evidence={
                "memory_retries": retries,
                "steps": steps,
                "peak_bytes": device.peak_bytes,
                "memory_bytes": device.memory_bytes,
            },
        )

    def _on_host(self, view: View) -> Finding | None:
        """Major faults under full memory, and steps that are longer while they happen."""
        if view.memory_share is None or view.memory_share < FULL:
            return None
        faulting, others = _with_and_without_faults(view)
        if len(faulting) < ENOUGH_STEPS or len(others) < ENOUGH_STEPS:
            return None
        usual, slow = statistics.median(others), statistics.median(faulting)
        if slow < SLOWER * usual:
            return None
        now = statistics.fmean([*faulting, *others])
        lost = view.costs.total.value * max(0.0, 1 - usual / max(1.0, now))
        return self.finding(
            view,
            f"memory is {percent(view.memory_share)} full; steps that wait for pages from "
            f"disk take {duration(slow)}, others {duration(usual)}",
            Cure(self.safety, "use less memory: a smaller cache or batch, float32, files"),
            saves={"step": Interval(lost, LEAST_SAVED * lost, lost)},
            evidence={"memory_share": round(view.memory_share, 3), "slow_steps": len(faulting)},
        )


def _with_and_without_faults(view: View) -> tuple[list[float], list[float]]:
    """Nanoseconds of the steps while pages were read from disk, and of all others."""
    spans = [(begin, end) for begin, end, rate in view.faulting if rate >= FAULTS_PER_S]
    faulting: list[float] = []
    others: list[float] = []
    for row in rows_of(view.recorded):
        if row.period is not None and not row.compiled:
            hit = any(begin <= row.t <= end for begin, end in spans)
            (faulting if hit else others).append(row.period / row.executions)
    return faulting, others


RULE = MemoryPressure()
