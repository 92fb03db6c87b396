"""# memory-pressure (EN008)

## What it finds
The machine is short of memory, and training waits for pages to come back from disk. Or the GPU is
short of memory, and torch gives its memory back and asks for it again in the middle of steps.

## Why it is slow
When memory is full, the system drops or swaps out pages that are needed again a moment later. Each
such page is a disk read in the middle of a step. On a GPU, torch keeps memory for later use; where
it finds no room, it waits for the device, gives everything back, and begins anew.

## Evidence
- the process met major page faults (pages read from disk) while training, at least 20 per second;
- memory use was above 85 % of what the process may use;
- steps with faults took longer than steps without;
- on a GPU: torch had to look for room again in at least one of 20 steps, and a quarter of the batch
  takes so much less than a quarter of the time that training would be 15 % faster.

## Predicted gain
All steps at the pace of those without faults; on a GPU, as many rows in steps of a quarter.

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
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import saved_by_change
from fitdoctor.units import duration, percent

PAGE = __doc__ or ""

FAULTS_PER_S = 20.0
FULL = 0.85
# Slow and usual steps must differ this much for the faults to be the cause.
SLOWER = 1.15
RETRIES_PER_STEP = 0.05


class MemoryPressure:
    """EN008."""

    code = "EN008"
    name = "memory-pressure"
    summary = "memory is full, and training waits for the disk, or for room on the GPU"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """Too little memory on the host, or on the device."""
        return self._on_host(view) or self._on_device(view)

    def _on_device(self, view: View) -> Finding | None:
        """Torch looks for room again and again, and smaller steps do the same work sooner."""
        device = view.result("device") or {}
        tried = view.result("part_of_batch")
        left = view.left_by("part_of_batch")
        retries, steps = device.get("memory_retries"), device.get("steps")
        if not retries or not steps or tried is None or left is None or view.is_group:
            return None
        if retries < RETRIES_PER_STEP * steps:
            return None
        parts = tried["of_rows"] / tried["rows"]
        saved = saved_by_change(view, left.scaled(parts))
        priced = gain(view.costs.total, saved)
        if priced.value < SLOWER or priced.low <= 1.0:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"the GPU has too little memory: torch gave all it kept back {retries} times in "
                f"{steps} steps, and {tried['rows']} rows instead of {tried['of_rows']} take "
                f"{percent(left.value)} of the time"
            ),
            gain=priced,
            cure=Cure(self.safety, f"a smaller batch ({tried['rows']} rows), or half precision"),
            evidence={
                "memory_retries": retries,
                "steps": steps,
                "peak_bytes": device.get("peak_bytes"),
                "memory_bytes": device.get("memory_bytes"),
            },
            saves={"step": saved},
        )

    def _on_host(self, view: View) -> Finding | None:
        """Major faults under full memory, and steps that are longer while they happen."""
        spans = view.faulting
        if view.is_group or not spans or view.memory_share is None or view.memory_share < FULL:
            return None
        inside: list[float] = []
        outside: list[float] = []
        for row in rows_of(view.recorded):
            if row.period is None or row.compiled:
                continue
            hit = any(begin <= row.t <= end for begin, end, rate in spans if rate >= FAULTS_PER_S)
            (inside if hit else outside).append(row.period / row.executions)
        if len(inside) < 3 or len(outside) < 3:
            return None
        usual, slow = statistics.median(outside), statistics.median(inside)
        if slow < SLOWER * usual:
            return None
        now = statistics.fmean([*inside, *outside])
        lost = view.costs.total.value * max(0.0, 1 - usual / now)
        saved = Interval(lost, 0.7 * lost, lost)
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"memory is {percent(view.memory_share)} full; steps that wait for pages from "
                f"disk take {duration(slow)}, others {duration(usual)}"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(self.safety, "use less memory: a smaller cache or batch, float32, files"),
            evidence={"memory_share": round(view.memory_share, 3), "slow_steps": len(inside)},
            saves={"step": saved},
        )


RULE = MemoryPressure()
