"""# transfer-bound (EN007)

## What it finds
Copying each batch to the GPU takes a large part of the step.

## Why it is slow
Plain arrays stay in the host's memory: every batch is sliced there and copied to the device,
while the device waits. Wide types (float64, float32 pixels where uint8 would do) make it worse.

## Evidence
- training runs on a GPU and is fed with arrays;
- a real step takes at least 15 % longer than a step on a batch that is already on the GPU;
- picking a batch's rows and copying them, timed alone, explains at least a third of that;
- a quarter of the batch is copied in clearly less time: it is the bytes that take it, not the
  start of a copy (that would be HO002).

## Predicted gain
A quarter of the bytes to pick and to copy, as with uint8 for float32; at most the step with its
data on the GPU, at least a third of what is lost.

## Example
```python
model.fit(images_float32, labels, batch_size=32)
```

## Use instead
Put small data on the device once (JAX: `jax.device_put`; torch: a DataLoader over CUDA tensors),
send uint8 and convert in the model, pin memory, or load ahead on other threads.

## Fix safety
The same numbers, but the code has to be rewritten: advice.

## When not to
The step is long enough to hide the copy.
"""

from __future__ import annotations

from typing import Any

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.15
EXPLAINS = 0.33
# A quarter of the batch that takes at least this share of a whole one's copy: latency.
LATENCY_SHARE = 0.6
# float32 as uint8: three quarters of the bytes need not be moved.
NARROWER = 0.75


class TransferBound:
    """EN007."""

    code = "EN007"
    name = "transfer-bound"
    summary = "copying batches to the GPU takes a large part of the step"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """The real step against one with its batch on the device, and the copy alone."""
        device = view.result("device") or {}
        transfer = device.get("transfer_ns")
        if device.get("kind") != "gpu" or transfer is None or view.frozen is None:
            return None
        if view.input.get("kind") != "arrays" or view.is_group:
            return None
        lost = view.costs.total.value - view.frozen.value
        moving = transfer + (device.get("pick_ns") or 0)
        if lost <= 0 or moving < EXPLAINS * lost or not _by_bytes(device):
            return None
        saved = Interval(NARROWER * min(lost, moving), min(lost, moving) / 3, lost)
        priced = gain(view.costs.total, saved)
        if priced.value < WORTH_GAIN:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"a step takes {duration(view.costs.total.value)}, {duration(view.frozen.value)} "
                f"with its batch on the GPU; picking and copying one takes {duration(moving)}"
            ),
            gain=priced,
            cure=Cure(self.safety, "keep the data on the GPU, or send narrower types"),
            evidence={
                "transfer_ns": int(transfer),
                "pick_ns": device.get("pick_ns"),
                "batch_bytes": device.get("bytes"),
                "frozen_step_ns": round(view.frozen.value),
            },
            saves={"input_wait": saved, "unknown": Interval.exact(0.0)},
        )


def _by_bytes(device: dict[str, Any]) -> bool:
    """Whether a copy takes as long as it does for its bytes."""
    quarter = device.get("quarter_transfer_ns")
    return quarter is not None and quarter < LATENCY_SHARE * device["transfer_ns"]


RULE = TransferBound()
