"""# devices-not-scaling (EN005)

## What it finds
The batch is split over several devices, and a single device is faster.

## Why it is slow
Each device computes a part of the batch. Then all of them add up their gradients. With few rows per
device, adding up takes longer than computing.

## Evidence
Keras's `DataParallel` distribution is in use, and the script itself, in fresh processes with it
and without it in turns, is at least ${WORTH_GAIN:gain} faster per step without it.

## Predicted gain
The ratio of those runs.

## Example
```python
keras.distribution.set_distribution(keras.distribution.DataParallel())
model.fit(x, y, batch_size=32)                  # four devices: eight rows each
```

## Use instead
One device, or a batch that gives each device as many rows as one had before. The larger batch
changes the training.

## Fix safety
Different rounding: advice.

## When not to
The model or its batch does not fit on one device.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import Device
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import worth
from fitdoctor.pricing.fresh_trial import faster_run
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration


class DevicesNotScaling(Rule):
    summary = "one device alone is faster than several"
    safety = "advice"
    numbers_from = (worth,)

    def detect(self, view: View) -> Finding | None:
        """Fresh runs on one device are faster."""
        device, trial = view.found(Device), faster_run(view, "one_device")
        if trial is None or device is None or device.replicas < 2:
            return None
        devices = device.replicas
        return self.finding(
            view,
            f"on {devices} devices a step takes {duration(trial.as_is)}, on one "
            f"{duration(trial.changed)}",
            Cure(
                self.safety,
                f"train on one device, or with {devices} times the batch (another training)",
            ),
            saves=trial.saves,
            evidence={
                "devices": devices,
                "several_ns": round(trial.as_is),
                "one_ns": round(trial.changed),
            },
            how="tried",
        )


RULE = DevicesNotScaling()
