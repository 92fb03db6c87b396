"""# tiny-steps (HO002)

## What it finds
A step is so small that starting it costs more than computing it.

## Why it is slow
Each step has a fixed price: Python's loop, callbacks, the call into the framework, the launch
of every op. With a small model and a small batch the arithmetic is a fraction of it.

## Evidence
- on one frozen batch, with Keras's loop around it, a quarter of the batch takes nearly as long (at
  least 0.6 of the time; 0.8 where a larger batch is the only cure);
- no loader explains that the step takes longer than on a frozen batch;
- the same steps with `steps_per_execution` = 10 or 50, tried on your own model and data, are
  faster by 5 % or more. On torch, where Keras does not support it: four times the batch (or
  sixteen times, tried on a GPU) takes clearly less than as many times as long.

## Predicted gain
The measured step under `steps_per_execution`, plus Keras's own loop (1 ms at most) divided by its
number, both as far as an epoch has that many steps to start together. On torch: samples per second
at the larger batch.

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
The same numbers bit for bit. Batch-level callbacks are then called once every 10 steps, so with
such callbacks the cure is unsafe. A larger batch changes the training: unsafe.

## When not to
- Time grows with the batch: the step is bound by arithmetic.
- Input is the limit: cure that first.
- It would give less than 1.15x of the whole time: then it is not told.
- Epochs of a few steps: no execution reaches over an epoch's end (see HO003).
"""

from __future__ import annotations

import math
from dataclasses import replace

from fitdoctor.analysis.device_use import device_time
from fitdoctor.analysis.estimate import from_windows, ratio_in_turns
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Edit, SetKeyword
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import input_is_slow
from fitdoctor.rules.support.places import (
    COMPILE_STEPS_PER_EXECUTION,
    FIT_BATCH_SIZE,
    compile_place,
)
from fitdoctor.units import duration, factor, percent

PAGE = __doc__ or ""

# A quarter of the batch takes at least this share of the whole: dispatch, not arithmetic.
FLAT = 0.6
# A larger batch changes the training: it is worth a word only where the start is nearly all.
MOSTLY_START = 0.8
EXECUTIONS = (10, 50)
# Times the batch; the larger change of the training must be worth it.
LARGER_BATCHES = (4, 16)
# Another training for less than this is not worth a word beside a cure that keeps it.
FAR_BETTER = 2.0
WORTH_LARGER = 1.5
# Another training for less than this, all in all, is not worth a word.
WORTH_ANOTHER = 1.25
# The larger number must be worth it: progress and callbacks become coarser.
WORTH_MORE = 1.25
# Steps started together change what callbacks see, and a trial on few cores is off by 5 to 10 %.
WORTH_TOGETHER = 1.15
WORTH_LISTING = 1.05
BUILT_IN_CALLBACKS = frozenset({"History", "ProgbarLogger"})
# Per-step costs outside the trial are divided by the number of executions only in part
# (the iterator is still advanced step by step): this much either way.
LOOP_UNCERTAINTY = 0.5
# Keras's own loop around a step took 0 to 0.33 ms in 29 trainings on three backends where it was
# measured; what a real step takes beyond that is something else, as a busy neighbour.
MOST_LOOP_NS = 1e6
LOADER_SHARE = 0.8
# Where the input is this much of the limit, cheaper steps would only wait longer.
INPUT_LIMITED = 1.5


class TinySteps:
    """HO002."""

    code = "HO002"
    name = "tiny-steps"
    summary = "starting a step costs more than computing it"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """Flat batch scaling, and a measured way to start fewer or larger steps."""
        flatness = _flatness(view)
        if view.is_group or view.frozen is None or flatness is None or flatness < FLAT:
            return None
        if _waits_for_input(view):
            return None
        best = _best_executions(view)
        executions = self._executions(view, flatness, *best) if best is not None else None
        if executions is not None and not _is_worth(view, executions):
            executions = None
        if view.backend != "torch" and not _device_waits(view):
            return executions
        # A GPU at work most of the time gains from a larger batch by better kernels, if at all.
        working = view.result("device_time") is not None and not _device_waits(view)
        larger = None if working else self._larger_batch(view, flatness)
        if executions is None or larger is None:
            return executions or larger
        if larger.gain.value < FAR_BETTER * executions.gain.value:
            return executions
        kept = f"; {executions.cure.summary} would give {factor(executions.gain.value)}×"
        return replace(larger, cure=replace(larger.cure, summary=larger.cure.summary + kept))

    def _executions(self, view: View, flatness: float, executions: int, after: Interval) -> Finding:
        saved = view.core.minus(after)
        watchers = _batch_callbacks(view)
        safety: Safety = "unsafe" if watchers else "safe"
        note = f"; {watchers[0]} is then called every {executions} steps" if watchers else ""
        return self._finding(
            view,
            flatness,
            saved,
            Cure(
                safety,
                f"compile(..., steps_per_execution={executions}){note}",
                _edits(view, executions),
            ),
            executions=executions,
        )

    def _larger_batch(self, view: View, flatness: float) -> Finding | None:
        if flatness < MOSTLY_START:
            return None
        rows = (view.result("batch_scaling") or {}).get("rows")
        best = _best_batch(view)
        if best is None or rows is None:
            return None
        times, after = best
        edits = _batch_edits(view, rows * times)
        finding = self._finding(
            view,
            flatness,
            view.core.minus(after),
            Cure(
                "unsafe" if edits else "advice",
                f"a batch of {rows * times} would process as many samples in less time; "
                "it changes the training. Or train on a device with less start-up per step",
                edits,
                steps_in_one=times if edits else 1,
            ),
            executions=1,
        )
        return finding if finding.gain.value >= WORTH_ANOTHER else None

    def _finding(
        self, view: View, flatness: float, saved: Interval, cure: Cure, *, executions: int
    ) -> Finding:
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"a step takes {duration(view.core.value)}, and a quarter of the batch "
                f"still {percent(flatness)} of it: the price is starting a step, not computing it"
            ),
            gain=gain(view.costs.total, saved),
            cure=cure,
            evidence={
                "step_ns": round(view.core.value),
                "quarter_batch_share": round(flatness, 2),
                "steps_per_execution": executions,
                "rows": (view.result("batch_scaling") or {}).get("rows"),
            },
            saves={"step": saved},
        )


def _is_worth(view: View, executions: Finding) -> bool:
    """Whether steps started together gain enough: of the training without its retracing.

    That has a finding and a cure of its own, after which the steps are what is left.
    """
    rest = view.costs.total.value - view.costs.parts.get("compile", 0.0)
    if rest <= 0 or executions.gain.value < WORTH_LISTING:
        return False
    return gain(Interval.exact(rest), executions.saves["step"]).value >= WORTH_TOGETHER


def _device_waits(view: View) -> bool:
    """Whether a GPU does nothing most of the time."""
    device = device_time(view.recorded, view.core.value)
    return device is not None and device.is_idle


def _waits_for_input(view: View) -> bool:
    """Whether cheaper steps would only wait longer for their data.

    Where its loader does not explain what a step takes beyond a frozen one, Keras's loop does.
    """
    if view.input_gain is None or view.input_gain.value <= INPUT_LIMITED:
        return False
    return view.loader is None or input_is_slow(view)


def _best_batch(view: View) -> tuple[int, Interval] | None:
    """How many times the batch to recommend, and what its share of a step then takes.

    Loading takes as long per sample as before; starting a step is what becomes rarer.
    """
    if view.frozen is None:
        return None
    wait = Interval.exact(_wait_per_sample(view))
    outside = view.core.minus(view.frozen).minus(wait)
    best: tuple[int, Interval] | None = None
    for times in LARGER_BATCHES:
        scaled = _scaled(view, times)
        if scaled is None:
            continue
        after = (scaled + outside).scaled(1.0 / times) + wait
        if best is None or best[1].value > WORTH_LARGER * after.value:
            best = (times, after)
    return best


def _wait_per_sample(view: View) -> float:
    """What a step waits for its samples; starting a copy to a GPU takes as long for any batch.

    On torch, the sampler draws the rows of a batch one by one: that grows with the batch.
    """
    wait = view.costs.parts.get("input_wait", 0.0)
    device = (view.result("device") or {}) if view.backend == "jax" else {}
    copy, quarter, pick = (
        device.get(name) for name in ("transfer_ns", "quarter_transfer_ns", "pick_ns")
    )
    if copy is None or quarter is None or pick is None:
        return wait
    wide, wide_pick = device.get("wide_transfer_ns"), device.get("wide_pick_ns")
    if wide is not None and wide_pick is not None:
        # From many batches at once: of a small one, nearly all is starting to copy and to pick.
        further = float(device["wide_times"]) - 1.0
        return float(min(wait, max(0.0, wide - copy + wide_pick - pick) / further))
    return float(min(wait, pick + max(0.0, copy - quarter) * 4 / 3))


def _batch_edits(view: View, rows: int) -> tuple[Edit, ...]:
    """The batch size of the fit, where it is fit that cuts arrays into batches."""
    recorded = view.recorded
    if view.input.get("kind") != "arrays" or not recorded.file or not recorded.line:
        return ()
    where = Where(recorded.file, recorded.line)
    return (SetKeyword(where, "fit", "batch_size", str(rows), FIT_BATCH_SIZE),)


def _edits(view: View, executions: int) -> tuple[Edit, ...]:
    where = compile_place(view)
    if where is None:
        return ()
    value, position = str(executions), COMPILE_STEPS_PER_EXECUTION
    return (SetKeyword(where, "compile", "steps_per_execution", value, position),)


def _flatness(view: View) -> float | None:
    """Time at a quarter of the batch over time at the whole batch, Keras's loop included.

    The loop around the step takes as long for any batch: it is part of starting a step.
    """
    quarter = _scaled(view, 0.25)
    if quarter is None or view.frozen is None:
        return None
    wait = view.costs.parts.get("input_wait", 0.0)
    loop = min(MOST_LOOP_NS, max(0.0, view.core.value - view.frozen.value - wait))
    return (quarter.value + loop) / (view.frozen.value + loop)


def _scaled(view: View, times: float) -> Interval | None:
    data = view.result("batch_scaling")
    if not data:
        return None
    windows = data["sizes"].get(str(int(data["rows"] * times)))
    return from_windows(windows["ns"]) if windows else None


def _best_executions(view: View) -> tuple[int, Interval] | None:
    """The number of steps per execution worth recommending, and the step it would give."""
    base = view.probe_ns("steps_per_execution_1")
    if base is None:
        return None
    best: tuple[int, Interval] | None = None
    for executions in EXECUTIONS:
        trial = _together(view, base, executions)
        if trial is None or _joined(view, executions) <= 0:
            continue
        after = _not_below_loader(view, trial + _loop_share(view, base, executions))
        if best is None or best[1].value > WORTH_MORE * after.value:
            best = (executions, after)
    return best


def _together(view: View, base: Interval, executions: int) -> Interval | None:
    """A step of several in one execution: by what it leaves of one by itself, timed in turns.

    The trial had as many batches as it wanted; an epoch may end in the middle of an execution.
    """
    data = view.result(f"steps_per_execution_{executions}")
    ratio = ratio_in_turns(data) if data else None
    if ratio is None:
        trial = view.probe_ns(f"steps_per_execution_{executions}")
    else:
        trial = Interval(base.value * ratio.value, base.value * ratio.low, base.value * ratio.high)
    joined = _joined(view, executions)
    return None if trial is None else trial.scaled(joined) + base.scaled(1 - joined)


def _joined(view: View, executions: int) -> float:
    """How much of what the trial saved is left, since no execution reaches over an epoch's end."""
    steps = view.steps_per_epoch
    if steps is None or steps < 1:
        return 1.0
    starts = math.ceil(steps / executions) / steps
    return min(1.0, (1 - starts) / (1 - 1 / executions))


def _not_below_loader(view: View, after: Interval) -> Interval:
    """Steps cannot follow each other faster than their data comes."""
    if view.loader is None:
        return after
    # Read alone from Python, batch by batch, a loader is a little slower than in the graph.
    return Interval.maximum(after, view.loader.ns.scaled(LOADER_SHARE))


def _loop_share(view: View, base: Interval, executions: int) -> Interval:
    """Keras's loop around the step, once per execution instead of once per step."""
    beside = max(0.0, view.core.value - base.value)
    loop = min(MOST_LOOP_NS, beside)
    share = beside - loop * _joined(view, executions) * (1 - 1 / executions)
    return Interval(share, share * (1 - LOOP_UNCERTAINTY), share * (1 + LOOP_UNCERTAINTY))


def _batch_callbacks(view: View) -> list[str]:
    """The user's callbacks that look at every batch."""
    return [
        total.name
        for total in view.recorded.callbacks
        if total.hook == "batch" and total.name not in BUILT_IN_CALLBACKS
    ]


RULE = TinySteps()
