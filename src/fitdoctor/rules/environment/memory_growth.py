"""# memory-growth (EN010)

## What it finds
Memory grows with every step, although training needs no more of it. At some step it will be full.
It costs no time yet, so this is a warning without a gain. Steps that slow down are EN004.

## Why it is slow
It is not slow at first. When memory is full, the system swaps (EN008) or ends the process. Then all
training since the last checkpoint is lost.

## Evidence
- memory of the process (without file pages), or memory in use on the accelerator, was read between
  steps, at least ${MIN_LOOKS} times after warm-up;
- it grows all the time: the slope's whole interval is above zero, and each half of the run grows at
  ${AT_PACE:percent} or more of the overall rate; by ${LEAST_BYTES:mb} or more in total;
- one of your objects grew with the steps: a list, dict, deque or set without a limit, or the graph
  of a torch tensor; or memory still grows after a whole pass over the data, when caches and shuffle
  buffers are full.

## Predicted gain
None. The message says at which step memory is full.

## Example
```python
losses.append(loss)                  # keeps the tensor; on torch, its whole graph
self.images.append(model(batch))     # in a callback
```

## Use instead
```python
losses.append(float(loss))
self.images = model(batch)           # or a deque(maxlen=...)
```

## Fix safety
Depends on what grows: advice.

## When not to
A buffer fills up to a limit. A `deque(maxlen=...)`, or an object that stores its limit as a number,
is left out. If a list's limit is set elsewhere, the warning is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from fitdoctor.analysis import growth
from fitdoctor.analysis.growth import steady_slope
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.memory import Holder, MemoryWhileTraining
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from fitdoctor.rules.rule import Rule
from fitdoctor.units import size

# Less drowns in what allocators keep for later.
LEAST_BYTES = 16 * 2**20
# The first pass fills caches and buffers.
FIRST_EPOCH = 1


class MemoryGrowth(Rule):
    summary = "memory grows with every step"
    safety = "advice"
    numbers_from = (growth,)

    def detect(self, view: View) -> Finding | None:
        """The accelerator's memory first: it is smaller."""
        seen = view.found(MemoryWhileTraining)
        if seen is None:
            return None
        found = None
        if seen.device is not None:
            left = None if seen.device_bytes is None else seen.device_bytes - seen.device[-1]
            found = self._growing(view, seen, seen.device, left, "memory of the GPU")
        return found or self._growing(view, seen, seen.host, seen.host_left, "memory")

    def _growing(
        self,
        view: View,
        seen: MemoryWhileTraining,
        looks: Sequence[int],
        left: int | None,
        what: str,
    ) -> Finding | None:
        holder = seen.holders[0] if seen.holders else None
        if holder is not None and holder.limit is not None:
            return None
        steps: Sequence[int] = seen.steps
        if holder is None:
            steps, looks = _after_first_pass(seen, looks)
        slope = steady_slope(steps, looks)
        if slope is None or slope.value * (steps[-1] - steps[0]) < LEAST_BYTES:
            return None
        full = None if left is None else seen.steps[-1] + round(left / slope.value)
        per_step = f"{size(slope.value)} per step ({size(slope.low)} to {size(slope.high)})"
        where = None
        if holder is not None and holder.file is not None:
            where = Where(holder.file, holder.line or 0)
        return self.finding(
            view,
            f"{what} grows by {per_step}{_until(full, view)}{_held_by(holder)}",
            Cure(self.safety, _cure(holder)),
            predicted=Interval.exact(1.0),
            where=where,
            is_warning=True,
            evidence={
                "bytes_per_step": round(slope.value),
                "low": round(slope.low),
                "high": round(slope.high),
                "full_at_step": full,
                "held_by": None if holder is None else holder.name,
            },
        )


def _after_first_pass(
    seen: MemoryWhileTraining, looks: Sequence[int]
) -> tuple[Sequence[int], Sequence[int]]:
    first = seen.epochs[0] + FIRST_EPOCH if seen.epochs else 0
    kept = [index for index, epoch in enumerate(seen.epochs) if epoch >= first]
    return [seen.steps[index] for index in kept], [looks[index] for index in kept]


def _until(full: int | None, view: View) -> str:
    if full is None:
        return ""
    planned = (
        view.planned_steps if view.recorded.kind == "fit" and view.passes is not None else None
    )
    of = f" ({planned:,} are planned)" if planned is not None else ""
    return f" and is full at step {full:,}{of}"


def _held_by(holder: Holder | None) -> str:
    if holder is None:
        return "; nothing of yours that Python knows of holds it"
    if holder.kind == "graph":
        return f"; `{holder.name}` keeps the graph of every step"
    more = f"{holder.entries:.3g} more per step"
    entry = "" if holder.entry is None else f", each a {holder.entry}"
    return f"; the {holder.kind} `{holder.name}` has {more}{entry}"


def _cure(holder: Holder | None) -> str:
    if holder is None:
        return "try without callbacks and with one worker, and look for newer versions"
    if holder.kind == "graph":
        return "add a number instead: float(loss), or loss.detach()"
    return "keep numbers instead of tensors, only the last entries, or write them to disk"


RULE = MemoryGrowth()
