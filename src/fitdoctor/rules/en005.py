"""# devices-not-scaling (EN005)

## What it finds
The batch is split over several devices, and one of them alone is faster.

## Why it is slow
Each device computes a part of the batch, then all of them add up their gradients. With few rows
for each, agreeing takes longer than computing.

## Evidence
Keras's `DataParallel` distribution is in use, and the script itself, in fresh processes with it
and without it in turns, takes at least 10 % less time per step without it.

## Predicted gain
The ratio of those runs.

## Example
```python
keras.distribution.set_distribution(keras.distribution.DataParallel())
model.fit(x, y, batch_size=32)                  # four devices: eight rows each
```

## Use instead
One device, or a batch that gives each device as many rows as one had before; the latter changes
the training.

## Fix safety
Other rounding: advice.

## When not to
The model or its batch does not fit on one device.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.prediction.fresh_trial import saved_by_trial
from fitdoctor.prediction.joint import gain
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.10


class DevicesNotScaling:
    """EN005."""

    code = "EN005"
    name = "devices-not-scaling"
    summary = "one device alone is faster than several"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """Fresh runs on one device are faster."""
        trial = view.result("fresh_one_device")
        devices = (view.result("device") or {}).get("replicas")
        if not trial or not devices:
            return None
        saved = saved_by_trial(view.costs.total, trial, WORTH_GAIN)
        if saved is None:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"on {devices} devices a step takes {duration(min(trial['as_is']))}, on one "
                f"{duration(min(trial['changed']))}"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                self.safety,
                f"train on one device, or with {devices} times the batch (another training)",
            ),
            evidence={
                "devices": int(devices),
                "several_ns": round(min(trial["as_is"])),
                "one_ns": round(min(trial["changed"])),
            },
            saves={"step": saved},
        )


RULE = DevicesNotScaling()
