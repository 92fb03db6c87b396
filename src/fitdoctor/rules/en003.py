"""# accelerator-slower (EN003)

## What it finds
The GPU is slower than the CPU for this model and batch.

## Why it is slow
Each operation has to be sent to the GPU, and each batch copied to it. A small model at a small
batch is done on the CPU before the GPU has begun.

## Evidence
The script itself, in fresh processes with and without the GPU in turns, takes at least 10 % less
time per step without it.

## Predicted gain
The ratio of those runs.

## Example
```python
keras.Sequential([keras.layers.Dense(128), keras.layers.Dense(10)]).fit(x, y, batch_size=10)
```

## Use instead
```shell
CUDA_VISIBLE_DEVICES=-1 python train.py         # JAX: JAX_PLATFORMS=cpu
```
or a larger batch: `fitdoctor devices train.py` says from which size on the GPU wins.

## Fix safety
Other rounding: advice.

## When not to
The model or the batch will grow: look at the crossover first.
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


class AcceleratorSlower:
    """EN003."""

    code = "EN003"
    name = "accelerator-slower"
    summary = "the GPU is slower than the CPU for this model and batch"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """Fresh runs without the GPU are faster."""
        trial = view.result("fresh_cpu")
        if not trial:
            return None
        saved = saved_by_trial(view.costs.total, trial, WORTH_GAIN)
        if saved is None:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"on the GPU a step takes {duration(min(trial['as_is']))}, on the CPU "
                f"{duration(min(trial['changed']))}"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                self.safety,
                "train on the CPU, or with a larger batch (fitdoctor devices says from where on)",
            ),
            evidence={
                "gpu_ns": round(min(trial["as_is"])),
                "cpu_ns": round(min(trial["changed"])),
            },
            saves={"step": saved},
        )


RULE = AcceleratorSlower()
