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
from fitdoctor.rules.support.fresh_runs import fresh_runs
from fitdoctor.units import duration

PAGE = __doc__ or ""


class DevicesNotScaling:
    """EN005."""

    code = "EN005"
    name = "devices-not-scaling"
    summary = "one device alone is faster than several"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """Fresh runs on one device are faster."""
        devices = (view.result("device") or {}).get("replicas")
        trial = fresh_runs(view, "fresh_one_device")
        if trial is None or not devices:
            return None
        return trial.finding(
            self,
            view,
            f"on {devices} devices a step takes {duration(trial.as_is)}, on one "
            f"{duration(trial.changed)}",
            Cure(
                self.safety,
                f"train on one device, or with {devices} times the batch (another training)",
            ),
            devices=int(devices),
            several_ns=round(trial.as_is),
            one_ns=round(trial.changed),
        )


RULE = DevicesNotScaling()
