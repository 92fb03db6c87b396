"""# transfer-bound (EN007)

## What it finds
Copying each batch to the GPU takes a large part of the step.

## Why it is slow
Plain arrays stay in the host's memory. Every batch is sliced there and copied to the device, while
the device waits. Wide types (float64, or float32 pixels instead of uint8) make it worse.

## Evidence
- training runs on a GPU and reads arrays;
- picking a batch's rows and copying them, timed alone, explains at least ${EXPLAINS:percent} of the
  time of a real step above a step on a batch that is already on the GPU;
- a quarter of the batch is copied in less than ${LATENCY_SHARE:percent} of the time: the bytes take
  the time, not the start of a copy (that would be HO002);
- the predicted gain is at least ${WORTH_REWRITE:gain}.

## Predicted gain
${NARROWER:percent} of the time to pick and copy, as with uint8 for float32. At most the step with
its data on the GPU, at least ${LEAST_SAVED:percent} of that time.

## Example
```python
model.fit(images_float32, labels, batch_size=32)
```

## Use instead
Put small data on the device once (JAX: `jax.device_put`; torch: a DataLoader over CUDA tensors),
send uint8 and convert in the model, pin memory, or load ahead on other threads.

## Fix safety
The same numbers, but the code must be rewritten: advice.

## When not to
The step is long enough to hide the copy.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.operations import TO_DEVICE, Operations
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration

# The code has to be rewritten by hand: not worth it for less.
WORTH_REWRITE = 1.15
EXPLAINS = 0.33
# A quarter of the batch that takes at least this share of a whole one's copy: latency.
LATENCY_SHARE = 0.6
# float32 as uint8: three quarters of the bytes need not be moved.
NARROWER = 0.75
LEAST_SAVED = 1 / 3


class TransferBound(Rule):
    summary = "copying batches to the GPU takes a large part of the step"
    safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """The real step against one with its batch on the device, and the copy alone."""
        device = view.found(Device)
        if device is None or device.kind != "gpu" or view.frozen is None:
            return None
        if device.transfer_ns is None or view.input.kind != "arrays" or view.is_group:
            return None
        copied = _copied_ns(view)
        lost = view.costs.total.value - view.frozen.value + copied
        moving = device.transfer_ns + (device.pick_ns or 0)
        quarter = device.quarter_transfer_ns
        by_bytes = quarter is not None and quarter < LATENCY_SHARE * device.transfer_ns
        if lost <= 0 or moving < EXPLAINS * lost or not by_bytes:
            return None
        explained = min(lost, moving)
        saved = Interval(NARROWER * explained, LEAST_SAVED * explained, lost)
        if gain(view.costs.total, saved).value < WORTH_REWRITE:
            return None
        alone = max(0.0, view.frozen.value - copied)
        # A step that copies its own batch saves it there.
        part = "step" if 2 * copied >= lost else "input_wait"
        return self.finding(
            view,
            f"a step takes {duration(view.costs.total.value)}, {duration(alone)} "
            f"with its batch on the GPU; picking and copying one takes {duration(moving)}",
            Cure(self.safety, "keep the data on the GPU, or send narrower types"),
            saves={part: saved, "unknown": Interval.exact(0.0)},
            evidence={
                "transfer_ns": device.transfer_ns,
                "pick_ns": device.pick_ns,
                "batch_bytes": device.bytes,
                "frozen_step_ns": round(alone),
            },
        )


def _copied_ns(view: View) -> float:
    """What a frozen step copies to the GPU: TensorFlow's batch waits in the host's memory."""
    seen = view.found(Operations)
    if seen is None or not seen.on_device:
        return 0.0
    return sum(row.ns for row in seen.rows if row.op == TO_DEVICE)


RULE = TransferBound()
