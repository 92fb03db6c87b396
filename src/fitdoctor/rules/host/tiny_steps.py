"""# tiny-steps (HO002)

## What it finds
A step is so small that starting it costs more than computing it.

## Why it is slow
Each step has a fixed cost: Python's loop, callbacks, the call into the framework, the launch of
every op. With a small model and a small batch the arithmetic is a fraction of it.

## Evidence
- on one frozen batch, in Keras's loop, a quarter of the batch takes nearly as long: at least
  ${FLAT:percent} of the time, or ${MOSTLY_START:percent} if a larger batch is the only cure;
- the loader does not explain why a real step takes longer than on a frozen batch;
- `steps_per_execution` of ${FEW_TOGETHER} or ${MANY_TOGETHER}, tried on your own model and data,
  makes the training ${WORTH_TOGETHER:gain} faster or more. On torch Keras does not support it:
  there a batch of ${LARGER_TIMES} times the size (or ${LARGEST_TIMES} times, tried on a GPU) must
  make it ${WORTH_ANOTHER:gain} faster or more.

## Predicted gain
The measured step under `steps_per_execution`, plus Keras's own loop (${MOST_LOOP_NS:ms} at most)
divided by that number, as far as an epoch has that many steps. On torch: samples per second at the
larger batch.

## Example
```python
model.compile("adam", "mse")
model.fit(x, y, batch_size=32)
```

## Use instead
```python
model.compile("adam", "mse", steps_per_execution=10)
```

## Fix safety
The same numbers bit for bit. Batch-level callbacks are then called once per execution, not once per
step, so with such callbacks the cure is unsafe. A larger batch changes the training: unsafe.

## When not to
- Time grows with the batch: arithmetic limits the step.
- Input is the limit: cure that first.
- It would give less than ${WORTH_TOGETHER:times} of the whole time: it is then not reported.
- Epochs of a few steps: an execution ends with its epoch (see HO003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fitdoctor.analysis.costs import BUILT_IN_CALLBACKS
from fitdoctor.analysis.device_use import device_use
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import DeviceTime
from fitdoctor.contract.evidence.model import OptimizerUpdate
from fitdoctor.contract.evidence.step import BatchScaling
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import larger_batch, steps_together
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.larger_batch import best_batch, step_at
from fitdoctor.pricing.loading import input_is_slow
from fitdoctor.pricing.steps_together import MOST_LOOP_NS, best_together
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import (
    COMPILE_STEPS_PER_EXECUTION,
    FIT_BATCH_SIZE,
    at,
    compile_place,
)
from fitdoctor.units import duration, factor, percent

# A quarter of the batch takes at least this share of the whole: dispatch, not arithmetic.
FLAT = 0.6
# A larger batch changes the training: it is worth a word only where starting is nearly all.
MOSTLY_START = 0.8
# A larger batch changes the training: beside a cure that keeps it, it must gain this much more.
FAR_BETTER = 2.0
# A larger batch changes the training: it must gain this much of the whole time.
WORTH_ANOTHER = 1.25
# Steps started together change what callbacks see, and a trial on few cores is off by 5 to 10 %.
WORTH_TOGETHER = 1.15
# What they must gain of the whole time, retracing included.
WORTH_LISTING = 1.05
# Where the input is this much of the limit, cheaper steps would only wait longer.
INPUT_LIMITED = 1.5


class TinySteps(Rule):
    summary = "starting a step costs more than computing it"
    safety = "safe"
    numbers_from = (larger_batch, steps_together)
    # A step has another cost altogether on the device that suits it, and a recurrence in one
    # kernel has few operations to start.
    explained_by = frozenset({"EN003", "MO001"})
    # Eager execution and retracing explain tiny steps. Where a batch callback takes the time,
    # starting several steps at once would only call it less often, which is that finding's cure.
    explained_by_larger = frozenset({"HO004", "CO001", "CB001"})

    def is_explained(
        self, finding: Finding, others: Sequence[Finding], kept: Sequence[Finding]
    ) -> bool:
        """Also by findings of a larger gain that make steps look tiny."""
        if any(larger.rule in self.explained_by_larger for larger in kept):
            return True
        # A far larger batch gains more than anything else where operations start one by one.
        is_larger_batch = finding.evidence.get("steps_per_execution") == 1
        if is_larger_batch and any(other.rule == "HO004" for other in others):
            return True
        return super().is_explained(finding, others, kept)

    def detect(self, view: View) -> Finding | None:
        """Flat batch scaling, and a measured way to start fewer or larger steps."""
        flatness = _flatness(view)
        if view.is_group or view.frozen is None or flatness is None or flatness < FLAT:
            return None
        if _waits_for_input(view):
            return None
        together = self._together(view, flatness)
        if view.backend != "torch" and not _device_waits(view):
            return together
        # A GPU at work most of the time gains from a larger batch by better kernels, if at all.
        working = view.found(DeviceTime) is not None and not _device_waits(view)
        larger = None if working else self._larger_batch(view, flatness)
        if together is None or larger is None:
            return together or larger
        if larger.gain.value < FAR_BETTER * together.gain.value:
            return together
        kept = f"; {together.cure.summary} would give {factor(together.gain.value)}×"
        return replace(larger, cure=replace(larger.cure, summary=larger.cure.summary + kept))

    def _together(self, view: View, flatness: float) -> Finding | None:
        best = best_together(view)
        if best is None:
            return None
        executions, after = best
        watchers = _batch_callbacks(view)
        note = f"; {watchers[0]} is then called every {executions} steps" if watchers else ""
        cure = Cure(
            "unsafe" if watchers else "safe",
            f"compile(..., steps_per_execution={executions}){note}",
            at(
                compile_place(view),
                SetKeyword,
                "compile",
                "steps_per_execution",
                str(executions),
                COMPILE_STEPS_PER_EXECUTION,
            ),
        )
        found = self._priced(view, flatness, view.core.minus(after), cure, executions=executions)
        return found if _is_worth(view, found) else None

    def _larger_batch(self, view: View, flatness: float) -> Finding | None:
        scaling, best = view.found(BatchScaling), best_batch(view)
        if flatness < MOSTLY_START or best is None or scaling is None:
            return None
        times, after = best
        rows = scaling.rows * times
        # Only arrays are cut into batches by fit.
        where = line_of(view.recorded) if view.input.kind == "arrays" else None
        edits = at(where, SetKeyword, "fit", "batch_size", str(rows), FIT_BATCH_SIZE)
        cure = Cure(
            "unsafe" if edits else "advice",
            f"a batch of {rows} would process as many samples in less time; "
            "it changes the training. Or train on a device with less start-up per step",
            edits,
            steps_in_one=times if edits else 1,
        )
        found = self._priced(view, flatness, view.core.minus(after), cure, executions=1)
        return found if found.gain.value >= WORTH_ANOTHER else None

    def _priced(
        self, view: View, flatness: float, saved: Interval, cure: Cure, *, executions: int
    ) -> Finding:
        scaling = view.found(BatchScaling)
        return self.finding(
            view,
            f"a step takes {duration(view.core.value)}, and a quarter of the batch still "
            f"{percent(flatness)} of it: starting a step takes the time, not computing it",
            cure,
            saves={"step": saved},
            evidence={
                "step_ns": round(view.core.value),
                "quarter_batch_share": round(flatness, 2),
                "steps_per_execution": executions,
                "rows": scaling.rows if scaling is not None else None,
            },
            how="tried",
        )


def _is_worth(view: View, together: Finding) -> bool:
    """Whether steps started together gain enough: of the training without its retracing.

    That has a finding and a cure of its own, after which the steps are what is left.
    """
    rest = view.costs.total.value - view.costs.parts.get("compile", 0.0)
    if rest <= 0 or together.gain.value < WORTH_LISTING:
        return False
    return gain(Interval.exact(rest), together.saves["step"]).value >= WORTH_TOGETHER


def _device_waits(view: View) -> bool:
    """Whether a GPU does nothing most of the time."""
    device = device_use(view.recorded, view.core.value)
    return device is not None and device.is_idle


def _waits_for_input(view: View) -> bool:
    """Whether cheaper steps would only wait longer for their data.

    Where its loader does not explain what a step takes beyond a frozen one, Keras's loop does.
    """
    if view.input_gain is None or view.input_gain.value <= INPUT_LIMITED:
        return False
    return view.loader is None or input_is_slow(view)


def _flatness(view: View) -> float | None:
    """Time at a quarter of the batch over time at the whole batch, Keras's loop included.

    The loop around the step takes as long for any batch: it is part of starting a step. So does
    the update of the weights, but in a compiled step that is arithmetic.
    """
    quarter = step_at(view, 0.25)
    if quarter is None or view.frozen is None:
        return None
    wait = view.costs.parts.get("input_wait", 0.0)
    loop = min(MOST_LOOP_NS, max(0.0, view.core.value - view.frozen.value - wait))
    update = view.timed(OptimizerUpdate) if view.backend != "torch" else None
    arithmetic = min(update.value, quarter.value) if update is not None else 0.0
    return (quarter.value - arithmetic + loop) / (view.frozen.value - arithmetic + loop)


def _batch_callbacks(view: View) -> list[str]:
    """The user's callbacks that look at every batch."""
    return [
        total.name
        for total in view.recorded.callbacks
        if total.hook == "batch" and total.name not in BUILT_IN_CALLBACKS
    ]


RULE = TinySteps()
