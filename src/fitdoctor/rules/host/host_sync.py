"""# host-sync (HO006)

## What it finds
The loop reads a value from the device in every step (`float(loss)`, `.item()`, `.numpy()`,
`.cpu()`), so host and device take turns.

## Why it is slow
JAX, and every framework on a GPU, starts operations and does not wait for them: while the device
computes one step, Python prepares the next. Reading a value waits until the device has caught up.
Then the device waits for Python.

## Evidence
- samples of the loop while it trained: in ${WORTH_SHARE:percent} of the time or more its thread
  waited for a value;
- the step alone, and the host's work without that wait, are each so much shorter than the iteration
  that overlapping them would gain ${WORTH_GAIN:gain} or more.

## Predicted gain
The longer of the two instead of their sum. Without an accelerator both share the cores, so only
cores that the step leaves free count.

## Example
```python
for batch in batches:
    loss, state = train_step(state, batch)
    history.append(float(loss))
```

## Use instead
```python
for batch in batches:
    loss, state = train_step(state, batch)
    history.append(loss)                  # still on the device
history = [float(one) for one in history]
```

## Fix safety
Safe: the same numbers, read later. `fix` makes the edit if the value only goes into a list that
nothing reads before the loop ends. Otherwise the edit is yours to make.

## When not to
The device computes nearly all the time: waiting for it then costs nothing.
"""

from __future__ import annotations

import os

from fitdoctor.analysis.view import View
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.evidence.loop import RepeatedCall
from fitdoctor.contract.evidence.step import FrozenBatch, StepAlone
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.findings.edits import ReadAfterLoop
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from fitdoctor.pricing import worth
from fitdoctor.pricing.joint import gain, saved_leaving
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration

# A shorter wait is not worth a change.
WORTH_SHARE = 0.1


class HostSync(Rule):
    summary = "a value read in every step makes host and device take turns"
    safety = "safe"
    numbers_from = (worth,)

    def detect(self, view: View) -> Finding | None:
        """Waiting for values, where host and device could work side by side."""
        watched, total = loop_lines(view.recorded), view.costs.total
        if watched is None or view.frozen is None or watched.reads < WORTH_SHARE:
            return None
        host = Interval.around(
            total.value * (1.0 - watched.reads), watched.error_of(1.0 - watched.reads)
        )
        left = Interval.maximum(host, view.frozen)
        # Side by side hides no more than the host's own work: beyond it the device just computes.
        saved = Interval.minimum(saved_leaving(total, left), host).scaled(_free_cores(view))
        if gain(total, saved).value < WORTH_GAIN:
            return None
        (file, line, text, _), _ = watched.lines("reads")[0]
        where = Where(file, line)
        edit = ReadAfterLoop(where, detach=view.recorded.detail.backend == "torch")
        waited = watched.reads * total.value
        return self.finding(
            view,
            f"{text} ({os.path.basename(file)}:{line}) waits {duration(waited)} of "
            f"{duration(total.value)} per step for the device, which then waits for Python; side "
            f"by side they would take {duration(left.value)}",
            Cure(self.safety, "keep the value on the device, and read it after the loop", (edit,)),
            saves={"step": saved},
            where=where,
            evidence={
                "reads": text,
                "waited_ns": round(waited),
                "host_ns": round(host.value),
                "step_alone_ns": round(view.frozen.value),
            },
        )


def _free_cores(view: View) -> float:
    """The share of the cores that the step leaves to Python.

    Without an accelerator the two share them: beside a step on all cores nothing is hidden.
    """
    if view.accelerators:
        return 1.0
    kinds: tuple[type[Timed], ...] = (FrozenBatch, StepAlone, RepeatedCall)
    found = [one for kind in kinds if (one := view.found(kind)) is not None and one.ns]
    busy = max((one.own_cores for one in found), default=1.0)
    return max(0.0, 1.0 - busy / view.cpus)


RULE = HostSync()
